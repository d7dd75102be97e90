import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openLedgerWorld, type LedgerWorld } from '../support/ledger-world.ts';

const calls = 24;
const callMs = 10_000;

let opened: LedgerWorld;
let temporal: LedgerWorld['temporal'];
let ledger: LedgerWorld['ledger'];
let tools: LedgerWorld['tools'];

beforeAll(async () => {
  opened = await openLedgerWorld(['engine', 'database']);
  ({ temporal, ledger, tools } = opened);
});
afterAll(() => opened?.stop());

/**
 * As many calls as the run makes, under way during `meanwhile`.
 * @returns how many of each outcome
 */
async function outcomes(item: string, meanwhile: () => Promise<void>): Promise<Record<string, number>> {
  const made = await Promise.all(
    Array.from({ length: calls }, () =>
      tools.client.create({ input: { text: 'Do it.' }, model: item, platform: { timeout_seconds: 300 } }),
    ),
  );
  const arrived = () => ledger.arrivals().filter((line) => line.item === item).length;
  await expect.poll(arrived, { timeout: 60_000 }).toBe(calls);
  await meanwhile();
  for (const { data } of made) await tools.client.ended(data.id, 120_000);
  const { rows } = await tools.admin.query<{ outcome: string; calls: number }>(
    `select outcome, count(*)::int as calls from tool_calls where arguments like $1 group by outcome`,
    [`%${item}%`],
  );
  const effects = ledger.effects().filter((line) => line.item === item).length;
  return { effects, ...Object.fromEntries(rows.map((row) => [row.outcome, row.calls])) };
}

it('no outcome is unknown when Temporal is paused for 3 to 6 seconds under 24 calls of 10 seconds', async () => {
  await ledger.control({ delay_ms: callMs });
  const found = await outcomes('engine', async () => {
    const forMs = 3_000 + Math.random() * 3_000;
    console.log(`Temporal is paused for ${Math.round(forMs)} ms`);
    process.kill(temporal.pid, 'SIGSTOP');
    await sleep(forMs);
    process.kill(temporal.pid, 'SIGCONT');
  });
  console.log(found);
  expect(found).toEqual({ effects: calls, succeeded: calls });
}, 240_000);

it('no outcome is unknown when the database is away for 60 seconds while the results arrive', async () => {
  await ledger.control({ delay_ms: 1_000 });
  const { name } = tools.database;
  const found = await outcomes('database', async () => {
    await tools.admin.query(`alter database ${name} connection limit 0`);
    await tools.admin.query(
      'select pg_terminate_backend(pid) from pg_stat_activity where datname = $1 and pid <> pg_backend_pid()',
      [name],
    );
    await sleep(60_000);
    await tools.admin.query(`alter database ${name} connection limit -1`);
  });
  console.log(found);
  expect(found).toEqual({ effects: calls, succeeded: calls });
}, 300_000);
