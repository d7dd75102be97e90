import { MockActivityEnvironment } from '@temporalio/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { deliverNotifications } from '#activities/notifications/deliver-notifications.ts';
import { nilUuid } from '#domain/kernel/ids.ts';
import type { PageResult } from '#workflows/fan-out-event/messages.ts';
import { openEngine, type Engine } from '../support/engine.ts';
import { addUsers, logEvent } from '../support/told-world.ts';

let engine: Engine;
let users: string[];
let eventId: string;

beforeAll(async () => {
  engine = await openEngine();
  // The owner is a service account: considered, and told nothing.
  await engine.admin.query('delete from space_members');
  users = await addUsers(engine.admin, engine.world, { count: 7_000 });
  const { tenantId, spaceId } = engine.world;
  const resource = { type: 'space', id: spaceId };
  eventId = await logEvent(engine.admin, tenantId, { type: 'space.deleted', resource });
});
afterAll(() => engine?.stop());

async function run(
  after: string | null,
  options: { heartbeatDetails?: unknown; stopAt?: number; turnMs?: number } = {},
) {
  const beats: unknown[] = [];
  const { heartbeatDetails, stopAt, turnMs = 60_000 } = options;
  const environment = new MockActivityEnvironment({ heartbeatDetails });
  environment.on('heartbeat', (details: unknown) => {
    if (beats.push(details) === stopAt) environment.cancel('WORKER_SHUTDOWN');
  });
  const { unitOfWork } = engine.database;
  const result = await environment.run((): Promise<PageResult> =>
    deliverNotifications(
      { unitOfWork, fanOutTurnMs: turnMs },
      { tenantId: engine.world.tenantId, eventId, after },
    ),
  );
  return { result, beats };
}

describe('deliverNotifications', () => {
  it('that is asked to stop commits the page it is at and says how far it got', async () => {
    const { result, beats } = await run(null, { stopAt: 1 });
    expect(result).toEqual({ next: users[2_499], delivered: 2_500 });
    expect(beats).toEqual([{ next: nilUuid, delivered: 0 }]);
    await engine.admin.query('truncate notifications');
  });

  it('whose turn is over after a page gives its place to others, and says how far it got', async () => {
    const { result } = await run(null, { turnMs: 0 });
    expect(result).toEqual({ next: users[2_499], delivered: 2_500 });
    expect((await run(result.next, { turnMs: 0 })).result).toEqual({ next: users[4_999], delivered: 2_500 });
    await engine.admin.query('truncate notifications');
  });

  it('tells all of several pages, and its heartbeat carries how far it got', async () => {
    const { result, beats } = await run(null);
    expect(result).toEqual({ next: null, delivered: 7_000 });
    expect(beats).toEqual([
      { next: nilUuid, delivered: 0 },
      { next: users[2_499], delivered: 2_500 },
      { next: users[4_999], delivered: 5_000 },
    ]);
    await engine.admin.query('truncate notifications');
  });

  it('goes on where the heartbeat of a lost attempt stands, and counts what that one had told', async () => {
    const heartbeatDetails = { next: users[5_999], delivered: 6_000 };
    const { result } = await run(null, { heartbeatDetails });
    expect(result).toEqual({ next: null, delivered: 7_000 });
    const told = await engine.admin.query('select from notifications where event_id = $1', [eventId]);
    // the six thousand that the lost attempt claims to have told are taken at its word
    expect(told.rowCount).toBe(1_000);
  });

  it('tells nobody twice when it is run again from the beginning', async () => {
    expect((await run(null)).result).toEqual({ next: null, delivered: 6_000 });
    expect((await run(null)).result).toEqual({ next: null, delivered: 0 });
    expect((await run(users[4_999]!)).result).toEqual({ next: null, delivered: 0 });
  });
});
