import { MockActivityEnvironment } from '@temporalio/testing';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { runCall } from '#activities/responses/run-call.ts';
import { runTurn } from '#activities/responses/run-turn.ts';
import { StreamWriter } from '#activities/responses/stream-writer.ts';
import { createContext } from '#domain/foundation/access/context.ts';
import { loadCaller } from '#domain/foundation/access/load-caller.ts';
import { newResponseId } from '#domain/foundation/kernel/ids.ts';
import type { ModelGateway } from '#domain/capabilities/models/model-gateway.ts';
import { Database } from '#domain/foundation/persistence/database.ts';
import { createOrm } from '#domain/operations/schema/orm.ts';
import { UnitOfWork } from '#domain/foundation/persistence/unit-of-work.ts';
import { createResponse } from '#domain/responses/accept/create-response.ts';
import type { TurnResult } from '#domain/responses/record/turn-result.ts';
import { calledServer } from '../support/called-server.ts';
import { openEngine, requestOf, type Engine } from '../support/engine.ts';
import { countStatements, type StatementCounter } from '../support/statement-counter.ts';
import { longTexts } from '../support/long-texts.ts';
import { secrets } from '../support/world.ts';
import { noMetrics } from '../support/no-metrics.ts';

let engine: Engine;
let counter: StatementCounter;
let stop: () => Promise<unknown>;
let deps: Parameters<typeof runTurn>[0] & Parameters<typeof runCall>[0];

/** Calls one search where it may, then answers in one piece. */
const models: ModelGateway = {
  async *stream({ tools, messages }) {
    const asks = tools.length > 0 && messages.at(-1)?.role === 'user';
    yield asks
      ? { type: 'tool_call', name: 'knowledge_search', arguments: '{"query":"tides"}', state: null }
      : { type: 'text', text: 'The moon pulls at the sea.' };
    yield { type: 'finish', reason: asks ? 'tool_calls' : 'stop', usage: null };
  },
};

beforeAll(async () => {
  engine = await openEngine();
  counter = await countStatements(engine.database.url);
  const options = { url: counter.url, statementTimeoutMs: 10_000 };
  const database = new Database(options);
  const orm = createOrm(options);
  stop = () => Promise.all([database.close(), orm.close(true)]);
  const toolServers = calledServer(() => Promise.reject(new Error('none')));
  deps = {
    database,
    unitOfWork: new UnitOfWork(orm),
    secrets,
    longTexts,
    names: { find: () => Promise.resolve([]) },
    models,
    toolServers,
    writer: new StreamWriter(database),
    metrics: noMetrics,
  };
  // Opening a connection takes statements of its own.
  await run(await create('warm'));
});
afterAll(async () => {
  await stop();
  await counter.close();
  await engine.stop();
});

/** As in the gateway: the caller's permissions and the response, in one transaction. */
async function create(tools: 'warm' | 'none' | 'search'): Promise<string> {
  const { tenantId, spaceId, owner } = engine.world;
  const responseId = newResponseId();
  await deps.unitOfWork.inTenant(tenantId, async (em) => {
    const identity = { ...owner, apiKeyId: null, keyPermissions: null };
    const caller = await loadCaller(em, identity, { via: 'api', requestId: 'req_test' }, spaceId);
    const input = requestOf(engine.world, tools === 'none' ? { tools: [] } : {});
    const limits = { maxActivePerSpace: 10_000, retentionSeconds: 86_400 };
    await createResponse(createContext({ caller, em, secrets }), input, { responseId, limits });
  });
  return responseId;
}

/** As in the workflow. */
async function run(responseId: string): Promise<void> {
  const activity = new MockActivityEnvironment();
  for (let iteration = 0; ; iteration += 1) {
    const key = { tenantId: engine.world.tenantId, responseId, iteration };
    const { next, calls } = (await activity.run(() => runTurn(deps, key))) as TurnResult;
    for (const { index } of calls) {
      await activity.run(() => runCall(deps, { ...key, callIndex: index }));
    }
    if (next === 'done') {
      return;
    }
  }
}

it('a response is accepted in six messages', async () => {
  expect(await counter.during(() => create('none'))).toBeLessThanOrEqual(6);
});

it('a turn takes five: read, claim, append, look, commit', async () => {
  const id = await create('none');
  expect(await counter.during(() => run(id))).toBeLessThanOrEqual(5);
  expect(await engine.record(id)).toMatchObject({ status: 'completed', output: [{ type: 'message' }] });
});

it('a tool round takes thirteen more: a turn, two steps of the ledger, and the search', async () => {
  const id = await create('search');
  expect(await counter.during(() => run(id))).toBeLessThanOrEqual(18);
  expect(await engine.record(id)).toMatchObject({
    status: 'completed',
    output: [{ type: 'file_search_call', status: 'completed' }, { type: 'message' }],
  });
});
