import { afterAll, beforeAll, expect, it } from 'vitest';
import { ToolServerFailure } from '#domain/capabilities/tools/tool-server.ts';
import { calledServer } from '../support/called-server.ts';
import { connectServer, tool } from '../support/connected-server.ts';
import { openEngine, type Engine } from '../support/engine.ts';
import { attemptCall, plannedCall } from '../support/planned-call.ts';

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
  const key = await plannedCall(engine);
  let effects = 0;
  const toolServers = calledServer(async () => {
    effects += 1;
    await away(1_000);
    return { kind: 'succeeded', text: 'Paid.' };
  });
  const outcome = await attemptCall(engine, toolServers, key);
  expect({ outcome, effects }).toEqual({ outcome: { outcome: 'succeeded' }, effects: 1 });
  expect((await engine.record(key.responseId)).output).toMatchObject([
    { type: 'mcp_call', status: 'completed', output: 'Paid.' },
  ]);
});

it('a result is stored and delivered without the characters that only a model would see', async () => {
  const key = await plannedCall(engine);
  const said = 'Pa\u200bid\u{E0073}\u{E0065}\u{E006E}\u{E0064} \u202Etxt\u202C \u{1F468}\u200D\u{1F469}';
  const toolServers = calledServer(() => Promise.resolve({ kind: 'succeeded', text: said }));
  await attemptCall(engine, toolServers, key);
  const kept = 'Paid txt \u{1F468}\u200D\u{1F469}';
  expect((await engine.record(key.responseId)).output).toMatchObject([{ type: 'mcp_call', output: kept }]);
  expect((await engine.attempt(key.responseId, 1)).turn.messages.at(-1)).toMatchObject({
    role: 'tool',
    result: kept,
  });
});

it.each([
  { failures: ['unreachable', 'unreachable'] as const, sent: false, attempts: 3, outcome: 'succeeded' },
  { failures: ['timeout'] as const, sent: false, attempts: 2, outcome: 'succeeded' },
  { failures: ['timeout', 'timeout'] as const, sent: false, attempts: 2, outcome: 'failed' },
  { failures: ['timeout'] as const, sent: true, attempts: 1, outcome: 'unknown' },
])('a call that fails with $failures, sent: $sent, is tried $attempts times', async (row) => {
  const key = await plannedCall(engine);
  let attempts = 0;
  const toolServers = calledServer(async () => {
    const failure = row.failures[attempts];
    attempts += 1;
    if (failure !== undefined) throw new ToolServerFailure(failure, { sent: row.sent });
    return { kind: 'succeeded', text: 'Paid.' };
  });
  const { outcome } = await attemptCall(engine, toolServers, key);
  expect({ outcome, attempts }).toEqual({ outcome: row.outcome, attempts: row.attempts });
});
