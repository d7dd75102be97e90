import { WorkflowFailedError } from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createActivities, type ActivityDependencies } from '#activities/index.ts';
import { createGuardedFetch } from '#adapters/egress/guarded-fetch.ts';
import { createToolServers } from '#adapters/tools/mcp-client.ts';
import { newId } from '#domain/foundation/kernel/ids.ts';
import type { DiscoverToolsInput } from '#workflows/discover-tools/messages.ts';
import { connectServer } from '../support/connected-server.ts';
import { openEngine, type Engine } from '../support/engine.ts';
import { startOddToolServer, type OddToolServer } from '../support/odd-tool-server.ts';
import { startWorkflowWorker, type WorkflowWorker } from '../support/workflow-worker.ts';

let engine: Engine;
let refusing: OddToolServer;
let worker: WorkflowWorker;
/** Attempts at exports, as the endpoint has answered them. */
const answers: (() => never)[] = [];

beforeAll(async () => {
  engine = await openEngine();
  refusing = await startOddToolServer({}, (_asked, response) => {
    response.writeHead(401).end('no');
    return true;
  });
  const { unitOfWork } = engine.database;
  const toolServers = createToolServers({
    fetch: createGuardedFetch([refusing.origin]),
    credentials: [],
    env: {},
  });
  const { discoverTools } = createActivities({ unitOfWork, toolServers } as unknown as ActivityDependencies);
  const exportTrace = () => Promise.resolve(answers.shift()?.());
  worker = await startWorkflowWorker({ discoverTools, exportTrace });
});
afterAll(async () => {
  await worker?.stop();
  await refusing?.stop();
  await engine?.stop();
});

/** How a workflow ends, as a list of Temporal shows it, and the type of its failure. */
async function run(type: string, input: object) {
  const { taskQueue, client } = worker;
  const handle = await client.start(type, { taskQueue, workflowId: `test/${newId()}`, args: [input] });
  const ended: unknown = await handle.result().catch((error: unknown) => {
    const cause = error instanceof WorkflowFailedError ? error.cause : null;
    return cause instanceof ApplicationFailure ? [cause.type, cause.message] : error;
  });
  return [(await handle.describe()).status.name, ended];
}

async function discovery(slug: string, url: string): Promise<DiscoverToolsInput> {
  const { tenantId, spaceId } = engine.world;
  const { serverId } = await connectServer(engine, { slug, url, tools: [] });
  return { tenantId, spaceId, serverId, number: 1 };
}

describe('a discovery of tools', () => {
  it('fails its workflow with the reason’s code when its server refuses or may not be reached', async () => {
    const refused = await discovery('refusing', refusing.url);
    expect(await run('discoverTools', refused)).toEqual(['FAILED', ['unauthorized', 'unauthorized']]);
    const forbidden = await discovery('forbidden', 'http://127.0.0.1:9/mcp');
    expect(await run('discoverTools', forbidden)).toEqual(['FAILED', ['url_not_allowed', 'url_not_allowed']]);
  });

  it('completes its workflow with the status of the server when that is gone', async () => {
    const { tenantId, spaceId } = engine.world;
    const gone = { tenantId, spaceId, serverId: newId(), number: 1 };
    expect(await run('discoverTools', gone)).toEqual([
      'COMPLETED',
      { status: 'gone', reason: null, tools: 0 },
    ]);
  });
});

describe('the export of a trace', () => {
  it('fails its workflow with the code of its last attempt when it is given up', async () => {
    const { tenantId, spaceId } = engine.world;
    const input = { tenantId, spaceId, responseId: 'resp_x' };
    answers.push(
      () => {
        throw ApplicationFailure.retryable('no', 'trace_unreachable');
      },
      () => {
        throw ApplicationFailure.nonRetryable('no', 'trace_refused');
      },
    );
    expect(await run('traceResponse', input)).toEqual(['FAILED', ['trace_refused', 'trace_refused']]);
  });
});
