import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { purgeResponses } from '#domain/operations/maintenance/purge-responses.ts';
import { reconcileCalls } from '#domain/operations/maintenance/reconcile-calls.ts';
import { createOrm } from '#domain/operations/schema/orm.ts';
import { UnitOfWork } from '#domain/foundation/persistence/unit-of-work.ts';
import { cancelResponse } from '#domain/responses/end/cancel-response.ts';
import { claimCall } from '#domain/responses/calls/claim-call.ts';
import { commitCall, type CallOutcome } from '#domain/responses/calls/commit-call.ts';
import { deleteResponse } from '#domain/responses/end/delete-response.ts';
import { connectServer, tool } from '../../../support/connected-server.ts';
import { sweepOnce } from '../../../support/sweeps.ts';
import { openEngine, search, type Engine } from '../../../support/engine.ts';

let engine: Engine;
let purgeOrm: ReturnType<typeof createOrm>;

beforeAll(async () => {
  engine = await openEngine();
  await connectServer(engine, { slug: 'crm', tools: [tool('pay')] });
  purgeOrm = createOrm({ url: engine.database.purgeUrl, statementTimeoutMs: 5_000, poolSize: 1 });
});
afterAll(async () => {
  await purgeOrm?.close(true);
  await engine?.stop();
});

const key = (responseId: string, callIndex: number) => ({
  tenantId: engine.world.tenantId,
  responseId,
  iteration: 0,
  callIndex,
});

/** A response with a started payment and search, and a payment that was not started. */
async function begun(): Promise<string> {
  const id = await engine.create();
  const pay = { name: 'mcp__crm__pay', arguments: '{}' };
  await (await engine.attempt(id)).commit({ calls: [pay, search('tides'), pay], reason: 'tool_calls' });
  for (const index of [0, 1]) {
    await claimCall(engine.database, key(id, index));
  }
  return id;
}

const commit = (id: string, outcome: CallOutcome['outcome']) =>
  commitCall(engine.database, key(id, 0), {
    outcome,
    result: 'Paid.',
    end: { status: 'completed', output: 'Paid.', results: null },
  });
const cancel = (responseId: string) => engine.act((ctx) => cancelResponse(ctx, { responseId }));
const remove = (responseId: string) => engine.act((ctx) => deleteResponse(ctx, { responseId }));
const pass = (id: string, minutes: number) =>
  engine.admin.query(
    `with passed as (
       update tool_calls set leased_until = leased_until - make_interval(mins => $2) where response_id = $1)
     update responses set finished_at = finished_at - make_interval(mins => $2),
       deleted_at = deleted_at - make_interval(mins => $2) where id = $1`,
    [id, minutes],
  );
const sweep = () => sweepOnce(reconcileCalls, engine.database);
const purge = () => sweepOnce(purgeResponses, { ...engine.database, purge: new UnitOfWork(purgeOrm) });

async function ledger(id: string): Promise<string[]> {
  const { rows } = await engine.admin.query<{ status: string; outcome: string | null }>(
    'select status, outcome from tool_calls where response_id = $1 order by call_index',
    [id],
  );
  return rows.map((row) => `${row.status} ${row.outcome}`);
}

async function received(id: string): Promise<string[]> {
  const { rows } = await engine.admin.query<{ tool: string }>(
    `select metadata ->> 'tool' as tool from events
       where resource_id = $1 and event_type = 'space.tool_outcome_unknown'`,
    [id],
  );
  return rows.map((row) => row.tool);
}

describe('a call that was running when its response ended, and lost its worker', () => {
  it('is unknown in the ledger and in the log once no attempt can still be running', async () => {
    const [ended, running] = [await begun(), await begun()];
    await cancel(ended);
    const before = await engine.events(ended);
    await pass(ended, 11);
    await sweep();
    expect(await ledger(ended)).toEqual(['started null', 'started null', 'planned null']);
    await pass(ended, 2);
    expect(await sweep()).toMatchObject({ failed: 0 });
    await sweep();
    expect(await ledger(ended)).toEqual(['done unknown', 'done failed', 'planned null']);
    expect(await received(ended)).toEqual(['mcp__crm__pay']);
    expect(await engine.events(ended)).toEqual(before);
    expect(await ledger(running)).toEqual(['started null', 'started null', 'planned null']);
  });

  it('writes its event before its ledger is purged, although it could not be resolved by then', async () => {
    const id = await begun();
    await remove(id);
    await commit(id, 'unknown');
    expect(await received(id)).toEqual([]);
    await pass(id, 1);
    expect(await purge()).toMatchObject({ done: 1, failed: 0 });
    expect(await ledger(id)).toEqual([]);
    expect(await received(id)).toEqual(['mcp__crm__pay']);
  });
});

it('a call that ends after the deletion of its response is not reported as unknown', async () => {
  const id = await begun();
  await remove(id);
  await commit(id, 'succeeded');
  expect(await ledger(id)).toEqual(['done succeeded', 'started null', 'planned null']);
  await pass(id, 1);
  await purge();
  expect(await received(id)).toEqual([]);
});
