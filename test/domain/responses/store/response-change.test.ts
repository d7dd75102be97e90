import type { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newId } from '#domain/foundation/kernel/ids.ts';
import { copyEntity, entityColumns, toEntity } from '#domain/foundation/persistence/rows.ts';
import { Response } from '#domain/responses/record/response.entity.ts';
import { lockHead } from '#domain/responses/store/head.ts';
import { claimCall } from '#domain/responses/calls/claim-call.ts';
import type { FunctionCall } from '#domain/responses/record/output-items.ts';
import { readCall, readTurn, type TurnState } from '#domain/responses/prompt/read-turn.ts';
import { ResponseChange, writeChange, writeWithin } from '#domain/responses/store/response-change.ts';
import { reconcileLostAttempts } from '#domain/responses/turn/reconcile-attempts.ts';
import { openEngine, search, type Engine } from '../../../support/engine.ts';

let engine: Engine;
let listener: Client;
let woken: string[] = [];

beforeAll(async () => {
  engine = await openEngine();
  listener = engine.database.database.newClient();
  await listener.connect();
  listener.on('notification', ({ payload }) => woken.push((payload ?? '').trim()));
  await listener.query('listen wake');
});
afterAll(async () => {
  await listener.end();
  await engine.stop();
});

const keyOf = (responseId: string) => ({ tenantId: engine.world.tenantId, responseId, iteration: 0 });

async function stateOf(responseId: string): Promise<TurnState> {
  return (await readTurn(engine.database.database, keyOf(responseId)))!;
}

const write = (change: ResponseChange) => writeChange(engine.database.database, change);

const fixedSamples = {
  tenantId: newId(),
  id: 'resp_other',
  spaceId: newId(),
  principalId: newId(),
  apiKeyId: newId(),
  modelId: newId(),
  model: 'other',
  modelAlias: 'other',
  previousResponseId: 'resp_other',
  request: {} as Response['request'],
  fingerprint: 'other',
  metadata: { other: 'yes' },
  createdAt: new Date(0),
  deletedAt: new Date(0),
};

/** A value that a new head does not have, of each column that may change. */
async function otherHead(blocker: string): Promise<Record<string, unknown>> {
  const { threadId, branchId } = await engine.begin();
  const soon = new Date(Date.now() + 60_000).toISOString();
  const counts = Object.fromEntries(
    ['writer_epoch', 'next_n', 'next_output_index', 'iteration_count', 'tool_call_count'].map((n) => [n, 5]),
  );
  return {
    ...counts,
    attempts: 5,
    chain_depth: 5,
    status: 'completed',
    waits_for: blocker,
    context_from: blocker,
    history_due: true,
    thread_id: threadId,
    branch_id: branchId,
    governance: { redactions: 5 },
    failure: { code: 'model_error' },
    incomplete_reason: 'max_cost',
    cancelled_by: engine.world.owner.principalId,
    queued_since: soon,
    started_at: soon,
    deadline_at: soon,
    finished_at: soon,
    expires_at: soon,
    record: '{}',
  };
}

describe('a change of a response', () => {
  it('is written completely, and notifies the listeners with its last number', async () => {
    const id = await engine.create();
    const change = new ResponseChange((await stateOf(id)).response);
    change.response.attempts = 3;
    change.publish([{ type: 'response.file_search_call.searching', item_id: 'fs_1', output_index: 0 }]);
    change.publish([{ type: 'response.file_search_call.completed', item_id: 'fs_1', output_index: 0 }]);
    expect(await write(change)).toBe('applied');
    expect((await stateOf(id)).response).toMatchObject({ attempts: 3, nextN: 3 });
    expect((await engine.events(id)).map((event) => event['sequence_number'])).toEqual([0, 1, 2]);
    await listener.query('select');
    await expect.poll(() => woken).toContain(`${id}:2`);
  });

  it.each([
    ['its lane has another writer', 'update responses set writer_epoch = writer_epoch + 1 where id = $1'],
    ['its stream has gone on', 'update responses set next_n = next_n + 1 where id = $1'],
    ['it was deleted', `update responses set deleted_at = now() - interval '1 second' where id = $1`],
  ])('is not written once %s', async (_what, meanwhile) => {
    const id = await engine.create();
    const change = new ResponseChange((await stateOf(id)).response);
    change.response.attempts = 3;
    change.publish([{ type: 'response.file_search_call.searching', item_id: 'fs_1', output_index: 0 }]);
    await engine.admin.query(meanwhile, [id]);
    expect(await write(change)).toBe('conflict');
    const { rows } = await engine.admin.query('select attempts from responses where id = $1', [id]);
    expect(rows).toEqual([{ attempts: 0 }]);
    const runs = await engine.admin.query('select from stream_runs where response_id = $1', [id]);
    expect(runs.rowCount).toBe(1);
  });

  it.each([
    ['a call of its own', write],
    [
      'the transaction of more',
      (change: ResponseChange) =>
        engine.database.unitOfWork.inTenant(engine.world.tenantId, (em) => writeWithin(em, change)),
    ],
  ])('keeps every character in %s', async (_what, writeIt) => {
    const text = `? ?? $1 :x \\ \\u0000 ' "" \u2028 \n \u{1f30a} \u{10ffff}`;
    const id = await engine.create();
    const change = new ResponseChange((await stateOf(id)).response);
    const place = { item_id: `msg_${id}`, output_index: 0 };
    change.publish([
      { type: 'response.output_text.delta', ...place, content_index: 0, delta: text, logprobs: [] },
    ]);
    const item: FunctionCall = {
      id: `fc_${id}`,
      type: 'function_call',
      status: 'completed',
      call_id: 'call_1',
      name: 'f',
      arguments: text,
    };
    const exchange = { call_id: 'call_1', name: 'f', arguments: text, result: text };
    change.addItem({ outputIndex: 0, item, exchange });
    expect(await writeIt(change)).toBe('applied');
    const [own] = (await stateOf(id)).own;
    expect(JSON.parse(own!.wire)).toEqual(item);
    expect(own!.exchange).toEqual(exchange);
    expect((await engine.events(id)).at(-1)).toMatchObject({ delta: text });
  });

  it('writes every column of a head that may change, and refuses the others', async () => {
    const id = await engine.create();
    const changeable = await otherHead(await engine.create());
    const fixed = entityColumns(Response, fixedSamples);
    const { rows: table } = await engine.admin.query<{ column: string }>(
      `select column_name as column from information_schema.columns where table_name = 'responses'`,
    );
    const known = Object.keys({ ...changeable, ...fixed });
    expect(known.toSorted()).toEqual(table.map(({ column }) => column).toSorted());
    for (const [column, value] of Object.entries(fixed)) {
      const change = new ResponseChange((await stateOf(id)).response);
      Object.assign(change.response, toEntity(Response, { [column]: value }));
      expect(() => change.isEmpty, column).toThrow(/cannot change/);
    }
    const change = new ResponseChange((await stateOf(id)).response);
    Object.assign(change.response, toEntity(Response, changeable));
    expect(await write(change)).toBe('applied');
    const { rows } = await engine.admin.query(
      `select d.key from responses r, jsonb_each($2) d where r.id = $1 and to_jsonb(jsonb_populate_record(r, $2)) -> d.key
         is distinct from to_jsonb(r) -> d.key`,
      [id, changeable],
    );
    expect(rows).toEqual([]);
  });

  it('is the only way to write a head: a flush of the ORM leaves it as it is', async () => {
    const id = await engine.create();
    await engine.database.unitOfWork.inTenant(engine.world.tenantId, async (em) => {
      const head = await lockHead(em, id);
      head!.response.attempts = 7;
      await em.flush();
    });
    expect((await stateOf(id)).response.attempts).toBe(0);
  });

  it('does not end a response that another one waits for', async () => {
    const id = await engine.create();
    await engine.attempt(id);
    const change = new ResponseChange((await stateOf(id)).response);
    await engine.create({ previousResponseId: id, onBusy: 'enqueue' });
    change.response.finish('completed', new Date());
    expect(await write(change)).toBe('blocked');
    expect((await stateOf(id)).response.status).toBe('in_progress');
  });

  it('leaves a call unchanged when the end in the same change is refused', async () => {
    const id = await engine.create();
    await (await engine.attempt(id)).commit({ calls: [search('tides')], reason: 'tool_calls' });
    const key = { ...keyOf(id), callIndex: 0 };
    const { call } = await readCall(engine.database.database, key);
    await engine.create({ previousResponseId: id, onBusy: 'enqueue' });
    const change = new ResponseChange((await stateOf(id)).response);
    const done = { status: 'done', outcome: 'failed' } as const;
    change.step(call!, Object.assign(copyEntity(call!), done));
    change.response.finish('completed', new Date());
    expect(await write(change)).toBe('blocked');
    expect((await readCall(engine.database.database, key)).call).toMatchObject({ status: 'planned' });
  });

  it('advances a call only from the state that was read', async () => {
    const id = await engine.create();
    await (await engine.attempt(id)).commit({ calls: [search('tides')], reason: 'tool_calls' });
    const key = { ...keyOf(id), callIndex: 0 };
    const before = await readCall(engine.database.database, key);
    await claimCall(engine.database, key);
    const change = new ResponseChange((await stateOf(id)).response);
    const ended = { status: 'done', outcome: 'failed' } as const;
    change.step(before.call!, Object.assign(copyEntity(before.call!), ended));
    expect(await write(change)).toBe('conflict');
    expect((await readCall(engine.database.database, key)).call).toMatchObject({ status: 'started' });
  });
});

describe('several at once', () => {
  it('a late claim does not change the turn after its own', async () => {
    const id = await engine.create();
    const first = await engine.attempt(id);
    await first.commit({ calls: [search('tides')], reason: 'tool_calls' });
    const second = await engine.attempt(id, 1);
    await reconcileLostAttempts(engine.database.unitOfWork, first.turn, first.turn.epoch);
    await second.commit();
    expect((await engine.record(id)).status).toBe('completed');
  });

  it('claims of one turn are an attempt each, and the last alone holds the lane', async () => {
    const id = await engine.create();
    const claims = await Promise.all([1, 2, 3, 4].map(() => engine.claim(id)));
    const turns = claims.map((claim) => (claim.kind === 'claimed' ? claim.turn : null)!);
    expect(new Set(turns.map(({ attempt }) => attempt))).toEqual(new Set([1, 2, 3, 4]));
    const { rows } = await engine.admin.query<{ outcome: string; epoch: number }>(
      'select outcome, epoch from turn_attempts where response_id = $1 order by attempt',
      [id],
    );
    expect(rows.map(({ outcome }) => outcome)).toEqual(['crashed', 'crashed', 'crashed', 'running']);
    expect((await stateOf(id)).response).toMatchObject({ writerEpoch: rows.at(-1)!.epoch, attempts: 4 });
  });
});
