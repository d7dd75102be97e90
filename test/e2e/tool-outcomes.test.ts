import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openLedgerWorld, type LedgerWorld } from '../support/ledger-world.ts';

const parallel = 6;
const pauses = ['workers', 'engine'] as const;

let opened: LedgerWorld;
let temporal: LedgerWorld['temporal'];
let ledger: LedgerWorld['ledger'];
let tools: LedgerWorld['tools'];

beforeAll(async () => {
  opened = await openLedgerWorld(pauses);
  ({ temporal, ledger, tools } = opened);
});
afterAll(() => opened?.stop());

const effectsOf = (item: string) => ledger.effects().filter((line) => line.item === item).length;

async function begin(script: string): Promise<string> {
  const made = await tools.client.create({ input: { text: 'Do it.' }, model: script });
  expect(made.status).toBe(202);
  return made.data.id;
}

async function pause(pids: number[], until: () => Promise<unknown>): Promise<void> {
  pids.forEach((pid) => process.kill(pid, 'SIGSTOP'));
  try {
    await until();
  } finally {
    pids.forEach((pid) => process.kill(pid, 'SIGCONT'));
  }
}

/** How many of the calls have had an attempt that Temporal gave up. */
async function timedOut(ids: readonly string[]): Promise<number> {
  const attempts = await Promise.all(
    ids.map(async (id) => {
      const handle = tools.stack.temporal.workflow.getHandle(`response/${tools.world.tenantId}/${id}`);
      const { raw } = await handle.describe();
      return raw.pendingActivities?.[0]?.attempt ?? 0;
    }),
  );
  return attempts.filter((attempt) => attempt > 1).length;
}

describe('the outcome of a call whose attempt Temporal timed out', () => {
  const workers = () => tools.stack.workers.map(({ child }) => child.pid!);

  const allTimedOut = (ids: readonly string[]) =>
    expect.poll(() => timedOut(ids), { timeout: 10_000 }).toBe(parallel);

  it.each([
    // Temporal looks at heartbeats when its timers fire: on a busy machine seconds after the last one was due.
    { pause: 'workers', pids: workers, until: allTimedOut },
    { pause: 'engine', pids: () => [temporal.pid], until: () => sleep(4_000) },
  ])('is that of its only effect when the $pause were paused', async ({ pause: item, pids, until }) => {
    await ledger.control({ hold: 'after_effect' });
    const ids = await Promise.all(Array.from({ length: parallel }, () => begin(item)));
    await ledger.held(parallel);
    await pause(pids(), () => until(ids));
    await sleep(1_500);
    await ledger.control({ hold: null });
    const records = await Promise.all(ids.map((id) => tools.client.ended(id, 30_000)));
    const outputs = records.flatMap(({ output }) => output.filter(({ type }) => type === 'mcp_call'));
    expect(outputs).toMatchObject(Array.from({ length: parallel }, () => ({ status: 'completed' })));
    expect(effectsOf(item)).toBe(parallel);
    expect(await tools.eventTypes('space.tool_outcome')).toEqual([]);
  });
});
