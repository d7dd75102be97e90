import { MockActivityEnvironment } from '@temporalio/testing';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { deliverNotifications, pageSize } from '#activities/notifications/deliver-notifications.ts';
import { nilUuid } from '#domain/foundation/kernel/ids.ts';
import type { PageResult } from '#workflows/fan-out-event/messages.ts';
import { openEngine, type Engine } from '../support/engine.ts';
import { addUsers, logEvent } from '../support/notification-world.ts';

/** The first page, which is delivered alone, two that are delivered at once, and a part of another. */
const everybody = 3.5 * pageSize;
/** The last of so many pages. */
const endOf = (pages: number) => users[pages * pageSize - 1];

let engine: Engine;
let users: string[];
let eventId: string;

beforeAll(async () => {
  engine = await openEngine();
  // The owner is a service account: part of the audience, but not notified.
  await engine.admin.query('delete from space_members');
  users = await addUsers(engine.admin, engine.world, { count: everybody });
  const { tenantId, spaceId } = engine.world;
  const resource = { type: 'space', id: spaceId };
  eventId = await logEvent(engine.admin, tenantId, { type: 'space.deleted', resource });
});
afterAll(() => engine?.stop());

async function run(
  after: string | null,
  options: {
    heartbeatDetails?: unknown;
    stopAt?: number;
    turnMs?: number;
    beats?: unknown[];
    of?: string;
  } = {},
) {
  const { heartbeatDetails, stopAt, turnMs = 60_000, beats = [], of = eventId } = options;
  const environment = new MockActivityEnvironment({ heartbeatDetails });
  environment.on('heartbeat', (details: unknown) => {
    if (beats.push(details) === stopAt) environment.cancel('WORKER_SHUTDOWN');
  });
  const { unitOfWork } = engine.database;
  const result = await environment.run((): Promise<PageResult> =>
    deliverNotifications(
      { unitOfWork, fanOutTurnMs: turnMs },
      { tenantId: engine.world.tenantId, eventId: of, after },
    ),
  );
  return { result, beats };
}

async function notified(of = eventId): Promise<string[]> {
  const { rows } = await engine.admin.query<{ user_id: string }>(
    'select user_id from notifications where event_id = $1 order by user_id',
    [of],
  );
  return rows.map((row) => row.user_id);
}

describe('deliverNotifications', () => {
  afterEach(() => engine.admin.query('truncate notifications'));

  it('that is asked to stop commits its current page and returns its position', async () => {
    const { result, beats } = await run(null, { stopAt: 1 });
    expect(result).toEqual({ next: endOf(1), delivered: pageSize });
    expect(beats).toEqual([{ next: nilUuid, delivered: 0 }]);
  });

  it('whose time is over after a page gives its slot to others, and returns its position', async () => {
    const { result } = await run(null, { turnMs: 0 });
    expect(result).toEqual({ next: endOf(1), delivered: pageSize });
    const second = await run(result.next, { turnMs: 0 });
    expect(second.result).toEqual({ next: endOf(3), delivered: 2 * pageSize });
  });

  it('notifies all recipients of several pages, and its heartbeat carries its position', async () => {
    const { result, beats } = await run(null);
    expect(result).toEqual({ next: null, delivered: everybody });
    expect(beats).toEqual([
      { next: nilUuid, delivered: 0 },
      { next: endOf(1), delivered: pageSize },
      { next: endOf(3), delivered: 3 * pageSize },
    ]);
  });

  it('does not report a page that failed beside another as delivered, and delivers it in a retry', async () => {
    await engine.admin.query(`
      create function refuse() returns trigger language plpgsql as $$ begin raise exception 'not now'; end $$;
      create trigger refuse before insert on notifications for each row
        when (new.user_id = '${users[pageSize + 7]}') execute function refuse()`);
    const beats: unknown[] = [];
    await expect(run(null, { beats })).rejects.toThrow('not now');
    expect(beats.at(-1)).toEqual({ next: endOf(1), delivered: pageSize });
    await engine.admin.query('drop trigger refuse on notifications');
    await run(null, { heartbeatDetails: beats.at(-1) });
    expect(await notified()).toEqual(users);
  });

  it('delivers several events at once, also when some deliver two pages at a time', async () => {
    const { tenantId, spaceId } = engine.world;
    const resource = { type: 'space', id: spaceId };
    const others = await Promise.all(
      [1, 2].map(() => logEvent(engine.admin, tenantId, { type: 'space.deleted', resource })),
    );
    const events = [eventId, ...others];
    const runs = await Promise.all(events.map((of) => run(null, { of })));
    expect(runs.map(({ result }) => result)).toEqual(
      events.map(() => ({ next: null, delivered: everybody })),
    );
    for (const of of events) expect(await notified(of)).toEqual(users);
  });

  it('continues from the heartbeat of a lost attempt, and counts the recipients notified by that attempt', async () => {
    const heartbeatDetails = { next: endOf(3), delivered: 3 * pageSize };
    const { result } = await run(null, { heartbeatDetails });
    expect(result).toEqual({ next: null, delivered: everybody });
    // the recipients of the lost attempt are trusted from its heartbeat
    expect(await notified()).toHaveLength(everybody - 3 * pageSize);
  });

  it('notifies no recipient twice when it is run again from the beginning or from any position', async () => {
    expect((await run(null)).result).toEqual({ next: null, delivered: everybody });
    expect((await run(null)).result).toEqual({ next: null, delivered: 0 });
    expect((await run(endOf(2)!)).result).toEqual({ next: null, delivered: 0 });
    expect(await notified()).toEqual(users);
  });
});
