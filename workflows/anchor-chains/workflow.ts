import { proxyActivities, setCurrentDetails } from '@temporalio/workflow';
import type { Activities } from '#activities/index.ts';
import { sweep } from '../shared/activity-options.ts';

const { anchorChains: anchor } = proxyActivities<Activities>(sweep);

/** Writes the heads of all chains where the database's owner cannot reach them, started by its schedule. */
export async function anchorChains(): Promise<void> {
  setCurrentDetails(`anchored ${await anchor()} chains`);
}
