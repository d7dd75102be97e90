import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { Database } from '#domain/foundation/persistence/database.ts';
import { newClaimant } from '#domain/responses/calls/call-lease.ts';
import { claimCall } from '#domain/responses/calls/claim-call.ts';
import type { CallKey } from '#domain/responses/record/turn-key.ts';
import { commitCall } from '#domain/responses/calls/commit-call.ts';
import { calledServer } from '../support/called-server.ts';
import { connectServer, tool } from '../support/connected-server.ts';
import { openEngine, search, type Engine } from '../support/engine.ts';
import { attemptCall, plannedCall } from '../support/planned-call.ts';
import { startPostgresRelay, type PostgresRelay } from '../support/postgres-relay.ts';

let engine: Engine;
let relay: PostgresRelay;
/** The connection of the interrupted attempt: through the relay. */
let relayed: Database;

/**
 * From the next write of a change on, its connection stays silent, and breaks once the server has answered.
 */
let eatAnswer = false;

beforeAll(async () => {
  engine = await openEngine();
  await connectServer(engine, { slug: 'crm', tools: [tool('pay')] });
  const eaten = new WeakSet<object>();
  let written: object | null = null;
  relay = await startPostgresRelay(engine.database.url, {
    fromClient: (to) => (chunk) => {
      if (eatAnswer && chunk.includes('write_response')) {
        eatAnswer = false;
        written = to;
      }
      to.write(chunk);
    },
    fromServer: (to) => (chunk) => {
      if (written !== null && !eaten.has(written)) {
        eaten.add(written);
        to.destroy();
        return;
      }
      to.write(chunk);
    },
  });
  relayed = new Database({ url: relay.url, statementTimeoutMs: 10_000 });
});
afterAll(async () => {
  await relayed?.close();
  await relay?.close();
  await engine?.stop();
});

/** A tool that takes effect at once and answers when released. */
let effects: number;
let answers: Promise<unknown>;
beforeEach(async () => {
  effects = 0;
  answers = Promise.resolve();
  await engine.admin.query('update mcp_tools set repeatable = false');
});
const toolServers = calledServer(async () => {
  effects += 1;
  await answers;
  return { kind: 'succeeded', text: 'Paid.' };
});

const planned = () => plannedCall(engine);
const attempt = (key: CallKey, database?: Database) => attemptCall(engine, toolServers, key, database);

async function callOf({ responseId }: CallKey): Promise<unknown> {
  return (await engine.record(responseId)).output[0];
}

describe('an attempt at a call that another attempt has started', () => {
  it('waits for the result of the first attempt', async () => {
    const key = await planned();
    const { promise, resolve } = Promise.withResolvers<void>();
    answers = promise;
    const first = attempt(key);
    await expect.poll(() => effects).toBe(1);
    const second = attempt(key);
    await sleep(1_000);
    resolve();
    expect(await Promise.all([first, second])).toEqual([{ outcome: 'succeeded' }, { outcome: 'settled' }]);
    expect(effects).toBe(1);
    expect(await callOf(key)).toMatchObject({ status: 'completed', output: 'Paid.' });
  });

  it('resolves it as unknown once its lease has expired, and a later result of the first attempt changes nothing', async () => {
    const key = await planned();
    const { promise, resolve } = Promise.withResolvers<void>();
    answers = promise;
    const first = attempt(key, relayed);
    await expect.poll(() => effects).toBe(1);
    relay.sever();
    expect(await attempt(key)).toEqual({ outcome: 'unknown' });
    const received = await callOf(key);
    expect(received).toMatchObject({ status: 'failed', error: { code: 'tool_outcome_unknown' } });
    relay.mend();
    resolve();
    await first;
    expect(effects).toBe(1);
    expect(await callOf(key)).toEqual(received);
    const { rows } = await engine.admin.query(
      `select event_type, metadata ->> 'tool_outcome' as outcome from events
       where resource_id = $1 and event_type like 'space.tool_outcome%' order by id`,
      [key.responseId],
    );
    expect(rows).toEqual([
      { event_type: 'space.tool_outcome_unknown', outcome: null },
      { event_type: 'space.tool_outcome_learned', outcome: 'succeeded' },
    ]);
  });
});

it('an attempt that reached no server does not resolve a call that another attempt holds by then', async () => {
  const key = await planned();
  const store = engine.database;
  await engine.admin.query('update mcp_tools set repeatable = true');
  const [paused, holder] = [newClaimant(), newClaimant()];
  expect(await claimCall(store, key, paused)).toMatchObject({ kind: 'claimed' });
  await engine.admin.query(
    `update tool_calls set leased_until = now() - interval '1 second' where response_id = $1`,
    [key.responseId],
  );
  await expect.poll(async () => (await claimCall(store, key, holder)).kind).toBe('claimed');
  const message = 'The tool server could not be reached or refused the call; nothing was done.';
  const error = { type: 'http_error', code: 0, message } as const;
  const nothing = { outcome: 'failed', result: message, end: { status: 'failed', error } } as const;
  expect(await commitCall(store, key, nothing, paused)).toBe('held');
  const end = { status: 'completed', output: 'Paid.', results: null } as const;
  const paid = { outcome: 'succeeded', result: 'Paid.', end } as const;
  expect(await commitCall(store, key, paid, holder)).toBe('settled');
  expect(await callOf(key)).toMatchObject({ status: 'completed', output: 'Paid.' });
});

it('a claim whose commit was not answered is recognised, and its call is made', async () => {
  const key = await planned();
  eatAnswer = true;
  // Temporal's handling of a failed attempt.
  const outcome = await attempt(key, relayed).catch(() => attempt(key));
  expect({ outcome, effects }).toEqual({ outcome: { outcome: 'succeeded' }, effects: 1 });
  expect(await callOf(key)).toMatchObject({ status: 'completed', output: 'Paid.' });
});

it('a search whose claim was not answered is begun once, also where it may not be begun more often', async () => {
  const responseId = await engine.create({
    tools: [{ type: 'knowledge_search', collectionIds: null, maxNumResults: null, alpha: null }],
  });
  await (await engine.attempt(responseId)).commit({ calls: [search('tides')], reason: 'tool_calls' });
  const key = { tenantId: engine.world.tenantId, responseId, iteration: 0, callIndex: 0 };
  const attempts = async () => {
    const { rows } = await engine.admin.query<{ attempts: number }>(
      'select attempts from tool_calls where response_id = $1',
      [responseId],
    );
    return rows.map((row) => row.attempts);
  };
  const store = { ...engine.database, database: relayed };
  for (const before of [0, 4]) {
    await engine.admin.query('update tool_calls set attempts = $2 where response_id = $1', [
      responseId,
      before,
    ]);
    const claimant = newClaimant();
    eatAnswer = true;
    await expect(claimCall(store, key, claimant)).rejects.toThrow();
    await expect.poll(attempts).toEqual([before + 1]);
    expect(await claimCall(store, key, claimant)).toMatchObject({ kind: 'claimed' });
    expect(await attempts()).toEqual([before + 1]);
  }
  expect((await claimCall(store, key)).kind).toBe('exhausted');
});
