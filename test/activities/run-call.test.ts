import { MockActivityEnvironment } from '@temporalio/testing';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { runCall } from '#activities/responses/run-call.ts';
import { ToolServerFailure, type ToolServerGateway } from '#domain/capabilities/tools/tool-server.ts';
import { connectServer, tool } from '../support/connected-server.ts';
import { openEngine, type Engine } from '../support/engine.ts';
import { longTexts } from '../support/long-texts.ts';
import { noMetrics } from '../support/no-metrics.ts';
import { attemptCall, plannedCall } from '../support/planned-call.ts';
import { secrets } from '../support/world.ts';

let engine: Engine;

beforeAll(async () => {
  engine = await openEngine();
  await connectServer(engine, { slug: 'crm', tools: [tool('pay')] });
});
afterAll(() => engine.stop());

/** Ends the runtime role's connections and refuses new ones for a while. */
async function away(forMs: number): Promise<void> {
  const { admin, database } = engine;
  await admin.query(`alter database ${database.name} connection limit 0`);
  await admin.query(
    'select pg_terminate_backend(pid) from pg_stat_activity where datname = $1 and pid <> pg_backend_pid()',
    [database.name],
  );
  setTimeout(() => void admin.query(`alter database ${database.name} connection limit -1`), forMs);
}

it('an effect is not resolved as unknown because the database was away when its outcome arrived', async () => {
  const id = await engine.create();
  await (
    await engine.attempt(id)
  ).commit({ calls: [{ name: 'mcp__crm__pay', arguments: '{}' }], reason: 'tool_calls' });
  let effects = 0;
  const toolServers: ToolServerGateway = {
    prepare: async () => undefined,
    endSession: () => Promise.resolve(),
    discover: () => Promise.resolve({ tools: [], connectionId: null }),
    call: async () => {
      effects += 1;
      await away(1_000);
      return { kind: 'succeeded', text: 'Paid.' };
    },
  };
  const key = { tenantId: engine.world.tenantId, responseId: id, iteration: 0, callIndex: 0 };
  const { database, unitOfWork } = engine.database;
  const names = { find: () => Promise.resolve([]) };
  const deps = { database, unitOfWork, secrets, toolServers, metrics: noMetrics, names, longTexts };
  const outcome = await new MockActivityEnvironment().run(() => runCall(deps, key));
  expect({ outcome, effects }).toEqual({ outcome: { outcome: 'succeeded' }, effects: 1 });
  expect((await engine.record(id)).output).toMatchObject([
    { type: 'mcp_call', status: 'completed', output: 'Paid.' },
  ]);
});

it('a result is stored and delivered without the characters that only a model would see', async () => {
  const id = await engine.create();
  await (
    await engine.attempt(id)
  ).commit({ calls: [{ name: 'mcp__crm__pay', arguments: '{}' }], reason: 'tool_calls' });
  const said = 'Pa\u200bid\u{E0073}\u{E0065}\u{E006E}\u{E0064} \u202Etxt\u202C \u{1F468}\u200D\u{1F469}';
  const toolServers = {
    call: () => Promise.resolve({ kind: 'succeeded', text: said }),
  } as unknown as ToolServerGateway;
  const key = { tenantId: engine.world.tenantId, responseId: id, iteration: 0, callIndex: 0 };
  const { database, unitOfWork } = engine.database;
  const names = { find: () => Promise.resolve([]) };
  const deps = { database, unitOfWork, secrets, toolServers, metrics: noMetrics, names, longTexts };
  await new MockActivityEnvironment().run(() => runCall(deps, key));
  const kept = 'Paid txt \u{1F468}\u200D\u{1F469}';
  expect((await engine.record(id)).output).toMatchObject([{ type: 'mcp_call', output: kept }]);
  expect((await engine.attempt(id, 1)).turn.messages.at(-1)).toMatchObject({ role: 'tool', result: kept });
});

it.each([
  { failures: ['unreachable', 'unreachable'] as const, sent: false, attempts: 3, outcome: 'succeeded' },
  { failures: ['timeout'] as const, sent: false, attempts: 2, outcome: 'succeeded' },
  { failures: ['timeout', 'timeout'] as const, sent: false, attempts: 2, outcome: 'failed' },
  { failures: ['timeout'] as const, sent: true, attempts: 1, outcome: 'unknown' },
])('a call that fails with $failures, sent: $sent, is tried $attempts times', async (row) => {
  const key = await plannedCall(engine);
  let attempts = 0;
  const toolServers: ToolServerGateway = {
    prepare: async () => undefined,
    endSession: () => Promise.resolve(),
    discover: () => Promise.resolve({ tools: [], connectionId: null }),
    call: async () => {
      const failure = row.failures[attempts];
      attempts += 1;
      if (failure !== undefined) throw new ToolServerFailure(failure, { sent: row.sent });
      return { kind: 'succeeded', text: 'Paid.' };
    },
  };
  const { outcome } = await attemptCall(engine, toolServers, key);
  expect({ outcome, attempts }).toEqual({ outcome: row.outcome, attempts: row.attempts });
});
