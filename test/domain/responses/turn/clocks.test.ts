import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { newResponseId } from '#domain/foundation/kernel/ids.ts';
import { reconcileResponses } from '#domain/operations/maintenance/reconcile-responses.ts';
import { cancelResponse } from '#domain/responses/end/cancel-response.ts';
import { closeResponse } from '#domain/responses/end/close-response.ts';
import { Fenced } from '#domain/responses/turn/commit-turn.ts';
import { deleteResponse } from '#domain/responses/end/delete-response.ts';
import { findRequest } from '#domain/responses/accept/find-request.ts';
import { inspectResponse } from '#domain/responses/read/inspect-response.ts';
import { listInputItems } from '#domain/responses/read/list-input-items.ts';
import { listResponses } from '#domain/responses/read/list-responses.ts';
import { readResponse } from '#domain/responses/read/read-response.ts';
import { Response } from '#domain/responses/record/response.entity.ts';
import { restartResponse } from '#domain/responses/accept/restart-response.ts';
import { ResponseRows } from '#domain/responses/store/response-rows.ts';
import { readStreams } from '#domain/responses/store/stream-store.ts';
import { inspectorSaying, sweepOnce } from '../../../support/sweeps.ts';
import { openEngine, requestOf, type Engine } from '../../../support/engine.ts';
import { connect, untilBlocked } from '../../../support/tables.ts';

let engine: Engine;

beforeAll(async () => {
  engine = await openEngine();
});
afterAll(() => engine.stop());

const day = 86_400_000;

/** Changes only `Date`: timers and the clock of the database are unchanged. */
describe.each([
  { name: 'two days behind', shift: -2 * day },
  { name: 'two days ahead', shift: 2 * day },
])('with the clock of the process $name', ({ shift }) => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + shift });
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  const read = (responseId: string) =>
    readResponse(new ResponseRows(engine.database.database), {
      identity: { ...engine.world.owner, apiKeyId: null, keyPermissions: null },
      requestId: null,
      spaceId: engine.world.spaceId,
      responseId,
    });

  it('a response runs, is read and ends as usual', async () => {
    const id = await engine.create({ timeoutSeconds: 60 });
    const attempt = await engine.attempt(id);
    await attempt.say('On time.');
    const again = await engine.attempt(id);
    await again.commit();
    const { record, expiresInMs } = await read(id);
    expect(record.status).toBe('completed');
    expect(expiresInMs).toBeGreaterThan(day - 60_000);
    expect(expiresInMs).toBeLessThanOrEqual(day);
    const { rows } = await engine.admin.query<{ skew: number }>(
      `select abs(extract(epoch from finished_at - now()))::float8 as skew from responses where id = $1`,
      [id],
    );
    expect(rows[0]!.skew).toBeLessThan(60);
  });

  it('a deadline comes when the database says so', async () => {
    const id = await engine.create({ timeoutSeconds: 60 });
    await engine.attempt(id);
    const left = await engine.database.unitOfWork.inTenant(engine.world.tenantId, (em) =>
      closeResponse(em, id, { kind: 'deadline' }),
    );
    expect(left).toBeGreaterThan(50_000);
    expect(left).toBeLessThanOrEqual(60_000);
  });

  it('an expired response cannot be read one second after, and can one second before', async () => {
    const id = await engine.create();
    await (await engine.attempt(id)).commit();
    const expire = (interval: string) =>
      engine.admin.query(
        `with head as (update responses set expires_at = now() + $2::interval where id = $1)
         update response_ids set expires_at = now() + $2::interval where id = $1`,
        [id, interval],
      );
    await expire('1 s');
    expect((await read(id)).record.id).toBe(id);
    await expire('-1 s');
    await expect(read(id)).rejects.toMatchObject({ code: 'response_expired' });
    const { database, world } = engine;
    expect(await database.unitOfWork.inTenant(world.tenantId, (em) => em.count(Response, { id }))).toBe(0);
  });

  it('an expired response that still runs is inaccessible as well', async () => {
    const id = await engine.create();
    const attempt = await engine.attempt(id);
    const { items } = await engine.act((ctx) =>
      listInputItems(ctx, { responseId: id, limit: 1, cursor: null }),
    );
    await attempt.say('In time.');
    const { database } = engine.database;
    const followed = () =>
      readStreams(database, [{ tenantId: engine.world.tenantId, responseId: id, after: -1 }], 100);
    expect((await followed()).flat()).not.toEqual([]);
    await engine.admin.query(
      `with head as (update responses set expires_at = now() where id = $1),
       ids as (update response_ids set expires_at = now() where id = $1)
       update stream_runs set expires_at = now() where response_id = $1`,
      [id],
    );
    expect((await followed()).flat()).toEqual([]);
    const expired = { code: 'response_expired' };
    const responseId = id;
    await expect(read(id)).rejects.toMatchObject(expired);
    for (const reach of [cancelResponse, deleteResponse, inspectResponse] as const) {
      await expect(engine.act<unknown>((ctx) => reach(ctx, { responseId }))).rejects.toMatchObject(expired);
    }
    const limits = { maxActivePerSpace: 10_000, retentionSeconds: 600 };
    await expect(
      engine.act((ctx) => restartResponse(ctx, { responseId }, { newId: newResponseId(), limits })),
    ).rejects.toMatchObject(expired);
    await expect(
      engine.act((ctx) => listInputItems(ctx, { responseId, limit: 1, cursor: null })),
    ).rejects.toMatchObject(expired);
    const listed = await engine.act((ctx) =>
      listResponses(ctx, { spaceId: engine.world.spaceId, status: null, limit: 100, cursor: null }),
    );
    expect(listed.items.map((one) => one.id)).not.toContain(id);
    for (const onBusy of ['reject', 'enqueue', 'cancel_previous'] as const) {
      await expect(engine.create({ previousResponseId: id, onBusy })).rejects.toMatchObject({
        code: 'previous_response_not_found',
      });
    }
    await expect(
      engine.create({ input: [{ type: 'item_reference', id: items[0]!.id }] }),
    ).rejects.toMatchObject({ code: 'invalid_request' });
    expect(await attempt.say('Too late.')).toBe(false);
    await expect(attempt.commit()).rejects.toThrow(Fenced);
    const posted = requestOf(engine.world);
    expect(await engine.act((ctx) => findRequest(ctx, posted, id))).toBeNull();
  });

  it('a cancel that waits past the expiry is answered with it', async () => {
    const id = await engine.create();
    const holder = await connect(engine.database.adminUrl);
    try {
      await holder.query('begin');
      await holder.query('select from responses where id = $1 for update', [id]);
      const cancelled = engine.act((ctx) => cancelResponse(ctx, { responseId: id }));
      const refused = expect(cancelled).rejects.toMatchObject({ code: 'response_expired' });
      await untilBlocked(holder);
      await holder.query(
        `with head as (update responses set expires_at = clock_timestamp() where id = $1 returning id, expires_at)
         update response_ids d set expires_at = h.expires_at from head h where d.id = h.id`,
        [id],
      );
      await holder.query('commit');
      await refused;
    } finally {
      await holder.end();
    }
  });

  it('the sweep ends overdue responses, and queries Temporal about the rest', async () => {
    const [overdue, running] = [await engine.create(), await engine.create()];
    await engine.attempt(overdue);
    await engine.attempt(running);
    await engine.admin.query(
      `update responses set created_at = now() - interval '10 min',
         deadline_at = now() + case id when $1 then -interval '61 s' else interval '1 min' end
       where id in ($1, $2)`,
      [overdue, running],
    );
    await engine.admin.query('delete from outbox');
    const asked: string[] = [];
    await sweepOnce(reconcileResponses, {
      ...engine.database,
      inspector: {
        ...inspectorSaying('unknown_id'),
        stateOf: async (workflowId) => {
          asked.push(workflowId);
          return 'open';
        },
      },
    });
    expect((await engine.record(overdue)).platform.incomplete_reason).toBe('deadline_exceeded');
    expect((await engine.record(running)).status).toBe('in_progress');
    expect(asked).toEqual([`response/${engine.world.tenantId}/${running}`]);
    await engine.admin.query('update responses set created_at = now() where id = $1', [running]);
  });
});
