import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { recordEvent } from '#domain/foundation/events/record-event.ts';
import type { WorkflowState } from '#domain/foundation/durable/workflow-inspector.ts';
import { purgeNotifications } from '#domain/operations/maintenance/purge-notifications.ts';
import { reconcileFanOuts } from '#domain/operations/maintenance/reconcile-fan-outs.ts';
import { createOrm } from '#domain/operations/schema/orm.ts';
import { UnitOfWork } from '#domain/foundation/persistence/unit-of-work.ts';
import { openEngine, type Engine } from '../../../support/engine.ts';
import { inspectorSaying, sweepOnce } from '../../../support/sweeps.ts';
import { addUsers, deliverAll } from '../../../support/notification-world.ts';

let engine: Engine;
let purgeOrm: ReturnType<typeof createOrm>;

beforeAll(async () => {
  engine = await openEngine();
  purgeOrm = createOrm({ url: engine.database.purgeUrl, statementTimeoutMs: 5_000, poolSize: 1 });
});
afterAll(async () => {
  await purgeOrm.close(true);
  await engine.stop();
});
beforeEach(async () => {
  await engine.admin.query('truncate fan_outs, outbox, notifications, notified_periods');
});

const reconcile = (state: WorkflowState) =>
  sweepOnce(reconcileFanOuts, { ...engine.database, inspector: inspectorSaying(state) });
/** Starts that a relay sends. */
const pending = async () => {
  const { rows } = await engine.admin.query<object>('select workflow_type, workflow_id, payload from outbox');
  return rows;
};
const unfinished = async () => (await engine.admin.query('select from fan_outs')).rowCount;

/** A fan-out that was enqueued, and acknowledged by Temporal, so long ago. */
async function lose(interval = '1 minute'): Promise<string> {
  await engine.act(({ em, caller }) =>
    recordEvent(em, caller, { type: 'space.deleted', resource: { type: 'space', id: engine.world.spaceId } }),
  );
  await engine.admin.query('delete from outbox');
  const { rows } = await engine.admin.query<{ event_id: string }>(
    'update fan_outs set created_at = now() - $1::interval returning event_id',
    [interval],
  );
  return rows[0]!.event_id;
}

describe('the sweep of fan-outs', () => {
  it('restarts a fan-out that Temporal has lost, which still notifies every recipient once', async () => {
    const { tenantId } = engine.world;
    await addUsers(engine.admin, engine.world, { count: 3 });
    const eventId = await lose();
    expect(await reconcile('unknown_id')).toMatchObject({ done: 1, failed: 0 });
    expect(await pending()).toMatchObject([
      {
        workflow_type: 'fanOutEvent',
        workflow_id: `notify/${tenantId}/${eventId}`,
        payload: { eventId, eventType: 'space.deleted', spaceId: engine.world.spaceId },
      },
    ]);
    expect(await reconcile('unknown_id')).toMatchObject({ done: 0 });
    expect(await pending()).toHaveLength(1);
    expect(await deliverAll(engine.database.unitOfWork, tenantId, eventId)).toBe(3);
    expect(await unfinished()).toBe(0);
  });

  it('leaves a running one, waits for a young one, and abandons a terminated one', async () => {
    await lose('5 seconds');
    expect(await reconcile('unknown_id')).toMatchObject({ done: 0 });
    await engine.admin.query(`update fan_outs set created_at = now() - interval '1 minute'`);
    expect(await reconcile('open')).toMatchObject({ done: 0 });
    expect(await unfinished()).toBe(1);
    expect(await reconcile('closed')).toMatchObject({ done: 1, failed: 0 });
    expect(await pending()).toEqual([]);
    expect(await unfinished()).toBe(0);
  });
});

describe('the purge of notifications', () => {
  it('removes notifications older than a year, and the periods already notified', async () => {
    const { tenantId, owner } = engine.world;
    for (const days of [366, 364]) {
      await engine.admin.query(
        `insert into notifications (tenant_id, event_id, user_id, category, event_type, title, created_at)
         values ($1, uuidv7(), $2, 'space', 'space.deleted', 'Deleted', now() - make_interval(days => $3))`,
        [tenantId, owner.principalId, days],
      );
      await engine.admin.query(
        `insert into notified_periods (tenant_id, key, created_at) values ($1, $2, now() - make_interval(days => $3))`,
        [tenantId, String(days), days],
      );
    }
    const purge = new UnitOfWork(purgeOrm);
    const removed = await sweepOnce(purgeNotifications, { ...engine.database, purge });
    expect(removed).toMatchObject({ done: 2, failed: 0, next: null });
    expect((await engine.admin.query('select from notifications')).rowCount).toBe(1);
    expect((await engine.admin.query('select key from notified_periods')).rows).toEqual([{ key: '364' }]);
  });
});
