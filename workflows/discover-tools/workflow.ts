import { proxyActivities, setCurrentDetails } from '@temporalio/workflow';
import type { Activities } from '#activities/index.ts';
import { toolServer } from '../shared/activity-options.ts';
import { conclude } from '../shared/conclude.ts';
import type { DiscoverToolsEnd, DiscoverToolsInput } from './messages.ts';

const activities = proxyActivities<Activities>(toolServer);

/** Discovers the tools of a connected server, and withholds those that changed since their approval. */
export async function discoverTools(input: DiscoverToolsInput): Promise<DiscoverToolsEnd> {
  setCurrentDetails('Reading the tools of the server.');
  const result = await activities.discoverTools.executeWithOptions({ summary: 'list tools' }, [input]);
  setCurrentDetails(`The server is ${result.status} with ${result.tools} tools.`);
  const { status, tools, error = null } = result;
  return conclude({ status: error === null ? status : 'failed', reason: error, tools });
}
