import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { resourceTypes } from '#domain/foundation/events/catalogue.ts';
import { exportEvents } from '#domain/foundation/events/export-events.ts';
import { listEvents, type EventFilters } from '#domain/foundation/events/list-events.ts';
import { readEvent } from '#domain/foundation/events/read-event.ts';
import { recordEvent } from '#domain/foundation/events/record-event.ts';
import { newId } from '#domain/foundation/kernel/ids.ts';
import { openEngine, type Engine } from '../../../support/engine.ts';
import { countAll, fillLog, prepareLog, sealAll } from '../../../support/event-log.ts';
import { Purge } from '../../../support/purge.ts';
import { createWorld, secrets } from '../../../support/world.ts';

const days = 100;
let engine: Engine;
let purge: Purge;

beforeAll(async () => {
  engine = await openEngine();
  purge = new Purge(engine.database);
  await prepareLog(engine.admin, days);
});
afterAll(async () => {
  await purge?.close();
  await engine?.stop();
});

const none: EventFilters = {
  category: null,
  resourceType: null,
  resourceId: null,
  fromDate: null,
  toDate: null,
};
const list = (input: Partial<EventFilters> & { limit?: number; cursor?: string | null } = {}) =>
  engine.act((ctx) => listEvents(ctx, { ...none, limit: 20, cursor: null, ...input }));
const seal = () => sealAll(engine.admin, { purge, secrets });

describe('the totals of a list', () => {
  it('equal a count of every event, whatever the window, sealed or not', async () => {
    const { tenantId } = engine.world;
    await fillLog(engine.admin, { tenantId, count: 3_000, days });
    // enough for several in each ten minutes of the last day
    await fillLog(engine.admin, { tenantId, count: 1_500, days: 1 });
    await seal();
    await fillLog(engine.admin, { tenantId, count: 400, days });
    const { rows } = await engine.admin.query<{ id: string }>(
      'select distinct resource_id as id from events where tenant_id = $1',
      [tenantId],
    );
    const ids = rows.map(({ id }) => id);
    const now = Date.now();
    const moment = fc
      .tuple(
        fc.oneof(fc.integer({ min: -2, max: 26 }), fc.integer({ min: -2, max: days * 24 + 2 })),
        fc.constantFrom(0, 1, 599_999, 600_000, 754_321, 1_800_000, 3_599_999, 3_600_000),
      )
      .map(([hours, ms]) => new Date(Math.floor(now / 3_600_000 - hours) * 3_600_000 + ms).toISOString());
    await fc.assert(
      fc.asyncProperty(
        fc.record({
          resourceType: fc.option(fc.constantFrom(...resourceTypes), { freq: 2 }),
          resourceId: fc.option(fc.constantFrom(...ids), { freq: 2 }),
          fromDate: fc.option(moment),
          toDate: fc.option(moment),
          category: fc.option(fc.constantFrom('space', 'collection', 'security', 'system')),
        }),
        async (filters) => {
          const { counts, items } = await list(filters);
          const { resourceType, resourceId, fromDate, toDate, category } = filters;
          const exact = await countAll(engine.admin, tenantId, {
            resourceType,
            resourceId,
            from: fromDate,
            to: toDate,
          });
          expect(counts).toEqual(exact);
          const matching = category === null ? exact.all : exact[category as 'space'];
          expect(items.length).toBe(Math.min(20, matching));
        },
      ),
      { numRuns: 150 },
    );
  });

  it('count an event from the moment of its commit', async () => {
    const before = await list();
    await engine.act(({ em, caller }) =>
      recordEvent(em, caller, {
        type: 'system.skill_changed',
        resource: { type: 'skill', id: caller.tenantId },
      }),
    );
    expect((await list()).counts.system).toBe(before.counts.system + 1);
    await seal();
    expect((await list()).counts.system).toBe(before.counts.system + 1);
  });
});

describe('months and days', () => {
  it('are those of UTC where the server has another time zone', async () => {
    const { tenantId } = await createWorld(engine.database.unitOfWork);
    const resource = newId();
    for (const at of ['2026-03-28T00:10:00Z', '2026-03-28T00:50:00Z']) {
      await engine.admin.query(
        `insert into events (tenant_id, id, category, event_type, resource_type, resource_id)
         values ($1, (left(app.first_id($2::timestamptz)::text, 14) || '7000-8000-000000000000')::uuid, 'space', 'space.updated', 'space', $3)`,
        [tenantId, at, resource],
      );
    }
    await seal();
    const look = async (zone: string) => {
      await engine.admin.query(`set timezone = '${zone}'`);
      const { rows: spans } = await engine.admin.query(
        `select grain, low, high from app.cover_window('2026-03-14T22:40Z', '2026-05-10T02:20Z',
           array['1 month', '1 day', '1 hour', '10 minutes']) order by low`,
      );
      const { rows } = await engine.admin.query<{ counts: string[] }>(
        `select app.count_events($1, null, $2, '2026-03-28T00:30Z', '2026-04-03T00:00Z') as counts`,
        [tenantId, resource],
      );
      await engine.admin.query('reset timezone');
      return { spans, counts: rows[0]!.counts.map(Number) };
    };
    const there = await look('Europe/Berlin');
    expect(there.counts).toEqual([1, 0, 0, 0]);
    const utc = (at: string) => new Date(`2026-${at}Z`);
    expect(there.spans).toEqual([
      { grain: '10 minutes', low: utc('03-14T22:40'), high: utc('03-14T23:00') },
      { grain: '1 hour', low: utc('03-14T23:00'), high: utc('03-15T00:00') },
      { grain: '1 day', low: utc('03-15T00:00'), high: utc('04-01T00:00') },
      { grain: '1 month', low: utc('04-01T00:00'), high: utc('05-01T00:00') },
      { grain: '1 day', low: utc('05-01T00:00'), high: utc('05-10T00:00') },
      { grain: '1 hour', low: utc('05-10T00:00'), high: utc('05-10T02:00') },
      { grain: '10 minutes', low: utc('05-10T02:00'), high: utc('05-10T02:20') },
    ]);
    expect(there).toEqual(await look('UTC'));
  });
});

describe('a list of events', () => {
  it.each([
    ['no filter', {}],
    ['a category', { category: 'security' }],
    ['a type of resource', { resourceType: 'space' }],
    ['both', { category: 'security', resourceType: 'space' }],
  ] as const)('with %s names every event once, newest first, page by page', async (_what, filters) => {
    const ids: string[] = [];
    let cursor: string | null = null;
    do {
      const page: Awaited<ReturnType<typeof list>> = await list({ ...filters, cursor, limit: 100 });
      ids.push(...page.items.map(({ id }) => id));
      cursor = page.nextCursor;
    } while (cursor !== null);
    const { category, resourceType }: EventFilters = { ...none, ...filters };
    const { rows } = await engine.admin.query<{ id: string }>(
      `select id from events where tenant_id = $1 and ($2::text is null or category = $2)
       and ($3::text is null or resource_type = $3) order by id desc`,
      [engine.world.tenantId, category, resourceType],
    );
    expect(ids).toEqual(rows.map(({ id }) => id));
  });

  it('includes both ends of its window', async () => {
    const { items } = await list({ limit: 3 });
    const at = items[1]!.createdAt.toISOString();
    const { items: exact, counts } = await list({ fromDate: at, toDate: at });
    expect(exact.map(({ id }) => id)).toContain(items[1]!.id);
    expect(counts.all).toBe(exact.length);
    const past = await list({ fromDate: at.replace('Z', '001Z'), toDate: at.replace('Z', '999Z') });
    expect(past.counts.all).toBe(0);
  });

  it('shows names to every reader, and e-mail and address to those who may read principals', async () => {
    const { world } = engine;
    await engine.admin.query(
      `update principals set name = 'Owner', email = 'owner@example.org' where id = $1`,
      [world.owner.principalId],
    );
    await seal();
    const { id } = await engine.act(async ({ em, caller }) => {
      await recordEvent(em, caller, {
        type: 'space.updated',
        resource: { type: 'space', id: world.spaceId },
      });
      const [row] = await em.execute<{ id: string }[]>('select max(id::text) as id from events');
      return row!;
    });
    await engine.admin.query(`update principals set name = 'Renamed' where id = $1`, [
      world.owner.principalId,
    ]);
    const full = await engine.act((ctx) => readEvent(ctx, { eventId: id }));
    expect(full).toMatchObject({ actorName: 'Owner', actorEmail: 'owner@example.org' });
    const lesser = await engine.act((ctx) =>
      readEvent({ ...ctx, caller: { ...ctx.caller, granted: new Set(['events.read']) } }, { eventId: id }),
    );
    expect(lesser).toMatchObject({ actorName: 'Owner', actorEmail: null });
    await engine.admin.query('delete from data_keys where principal_id = $1', [world.owner.principalId]);
    expect(await engine.act((ctx) => readEvent(ctx, { eventId: id }))).toMatchObject({
      actorName: null,
      actorEmail: null,
      actorId: world.owner.principalId,
    });
  });

  it('is exported with an event of its own', async () => {
    const first = await engine.act((ctx) => exportEvents(ctx, { ...none, limit: 500, cursor: null }));
    expect(first.items).toHaveLength(500);
    const second = await engine.act((ctx) =>
      exportEvents(ctx, { ...none, limit: 500, cursor: first.nextCursor }),
    );
    expect(second.items[0]!.id < first.items.at(-1)!.id).toBe(true);
    const { items } = await list({ category: 'security', limit: 2 });
    expect(items.map(({ eventType }) => eventType === 'security.events_exported')).toEqual([true, false]);
  });
});
