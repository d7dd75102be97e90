import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Anchor } from '#domain/foundation/events/anchor.ts';
import { anchorChains } from '#domain/foundation/events/anchor-chains.ts';
import { dropOldEvents } from '#domain/foundation/events/drop-old-events.ts';
import { eventDigest } from '#domain/foundation/events/event-digest.ts';
import { listEvents } from '#domain/foundation/events/list-events.ts';
import { recordEvent } from '#domain/foundation/events/record-event.ts';
import { sealEvents } from '#domain/foundation/events/seal-events.ts';
import { checkAnchors } from '#domain/foundation/events/check-anchors.ts';
import type { ChainRow } from '#domain/foundation/events/chain.ts';
import { verifyChain, type Ask, type Verification } from '#domain/foundation/events/verify-chain.ts';
import { openEngine, type Engine } from '../../../support/engine.ts';
import { countAll, fillLog, prepareLog, sealAll } from '../../../support/event-log.ts';
import { Purge } from '../../../support/purge.ts';
import { mulberry32 } from '../../../support/model-script.ts';
import { createWorld, secrets } from '../../../support/world.ts';
import { tamperingOf } from './tampering.ts';

const days = 70;
const tamperings = Number(process.env['TAMPERINGS'] ?? 300);
let engine: Engine;
let purge: Purge;
const anchored: Anchor[] = [];
const anchors = {
  append: async (lines: readonly Anchor[]) => anchored.push(...lines) > 0,
  lastOf: () => undefined,
};
const seal = () => sealAll(engine.admin, { purge, secrets });
const sealOnce = () => sealEvents({ purge, secrets });
const anchor = () => anchorChains({ purge, anchors }, 365);

beforeAll(async () => {
  engine = await openEngine();
  purge = new Purge(engine.database);
  await prepareLog(engine.admin, days);
  // Several transactions and batches.
  for (let round = 0; round < 6; round += 1) {
    await fillLog(engine.admin, { tenantId: engine.world.tenantId, count: 12, days: 3 * round + 1 });
    await seal();
    await anchor();
  }
});
afterAll(async () => {
  await purge?.close();
  await engine?.stop();
});

const ask: Ask = async <Row extends object>(text: string, values: unknown[]) =>
  (await engine.admin.query<Row>(text, values)).rows;
const verify = (retentionDays = 365, known = anchored): Promise<Verification> =>
  verifyChain(ask, engine.world.tenantId, { anchors: known, retentionDays });

/** Any change by the owner of the database, rolled back afterwards. */
async function asOwner<T>(work: () => Promise<T>): Promise<T> {
  await engine.admin.query(`begin; set local session_replication_role = replica`);
  try {
    return await work();
  } finally {
    await engine.admin.query('rollback');
  }
}

describe('the verification of a chain', () => {
  it('finds nothing in an unchanged log', async () => {
    const { rows } = await engine.admin.query<{ n: number }>(
      'select count(*)::integer as n from events where tenant_id = $1',
      [engine.world.tenantId],
    );
    const verification = await verify();
    expect(verification).toMatchObject({ findings: [], events: rows[0]!.n, unsealed: 0, anchors: 6 });
    expect(verification.batches).toBeGreaterThanOrEqual(6);
  });

  it(`finds each of ${tamperings} edits, deletions, reorderings and truncations by the owner`, async () => {
    const random = mulberry32(Number(process.env['SEED'] ?? 20261121));
    const unnoticed: string[] = [];
    const done = new Map<string, number>();
    for (let i = 0; i < tamperings;) {
      const tampering = tamperingOf([random(), random(), random(), random()], eventDigest);
      const found = await asOwner(async () =>
        (await tampering.apply(engine.admin, engine.world.tenantId))
          ? (await verify()).findings.length
          : null,
      );
      if (found !== null) {
        i += 1;
        const kind = tampering.what.split(',')[0]!;
        done.set(kind, (done.get(kind) ?? 0) + 1);
        if (found === 0) unnoticed.push(tampering.what);
      }
    }
    console.log(Object.fromEntries(done));
    expect(unnoticed).toEqual([]);
    expect(done.size).toBeGreaterThanOrEqual(tamperings >= 100 ? 12 : 1);
  }, 600_000);

  it('names the event and the batch', async () => {
    const { rows } = await engine.admin.query<{ ids: string[] }>(
      'select event_ids as ids from event_seals where tenant_id = $1 and seq = 2',
      [engine.world.tenantId],
    );
    const [eventId] = rows[0]!.ids;
    const change = (text: string) =>
      asOwner(async () => {
        await engine.admin.query(text, [engine.world.tenantId, eventId]);
        return (await verify()).findings;
      });
    expect(await change(`update events set metadata = '{"a":1}' where tenant_id = $1 and id = $2`)).toEqual([
      { kind: 'event_changed', eventId, seq: 2 },
    ]);
    expect(await change('delete from events where tenant_id = $1 and id = $2')).toEqual([
      { kind: 'event_missing', eventId, seq: 2 },
    ]);
  });

  it('needs its anchors against an owner who recomputes all hashes', async () => {
    const { rows } = await engine.admin.query<{ id: string }>(
      'select event_ids[1] as id from event_seals where tenant_id = $1 order by seq limit 1',
      [engine.world.tenantId],
    );
    const cover = tamperingOf([0, 0, 0.7, 0], eventDigest);
    expect(rows).toHaveLength(1);
    const [without, withThem] = await asOwner(async () => {
      await cover.apply(engine.admin, engine.world.tenantId);
      return [(await verify(365, [])).findings, (await verify()).findings];
    });
    expect(without).toEqual([]);
    expect(withThem.map(({ kind }) => kind)).toContain('anchor_differs');
  });

  it('continues after events recorded while other transactions were open', async () => {
    const { world, database } = engine;
    let release = () => undefined as void;
    const held = new Promise<void>((resolve) => (release = resolve));
    let written = () => undefined as void;
    const isWritten = new Promise<void>((resolve) => (written = resolve));
    const record = (id: string) =>
      engine.act(({ em, caller }) =>
        recordEvent(em, caller, { type: 'space.updated', resource: { type: 'space', id } }),
      );
    const slow = database.unitOfWork.inTenant(world.tenantId, async (em) => {
      await recordEvent(em, world.owner, { type: 'space.updated', resource: { type: 'space', id: 'slow' } });
      written();
      await held;
    });
    await isWritten;
    await record('quick');
    await sealOnce();
    expect((await verify()).unsealed).toBe(1);
    release();
    await slow;
    await seal();
    expect(await verify()).toMatchObject({ unsealed: 0, findings: [] });
    const { rows } = await engine.admin.query<{ id: string }>(
      `select e.resource_id as id from event_seals s, unnest(s.event_ids) with ordinality u (id, place)
       join events e on e.id = u.id where s.tenant_id = $1 and e.resource_id in ('slow', 'quick') order by s.seq, u.place`,
      [world.tenantId],
    );
    expect(rows.map(({ id }) => id)).toEqual(['slow', 'quick']);
  });

  it('by two sealers at once seals every event once', async () => {
    const { tenantId } = engine.world;
    for (let round = 0; round < 5; round += 1) {
      await fillLog(engine.admin, { tenantId, count: 200, days: 1 });
      await Promise.all([sealOnce(), sealOnce(), sealOnce()]);
    }
    await seal();
    expect(await verify()).toMatchObject({ unsealed: 0, findings: [] });
  });
});

describe('retention', () => {
  it('takes whole months with their seals and counts, and the chain still verifies', async () => {
    const { tenantId } = engine.world;
    await fillLog(engine.admin, { tenantId, count: 300, days });
    await seal();
    await anchor();
    const before = await verify();
    const { dropped, failed } = await dropOldEvents(purge, 20);
    expect(failed).toBe(0);
    expect(dropped).toBeGreaterThanOrEqual(1);
    const { rows } = await engine.admin.query<{ from: string }>(
      `select retained_from::text as from from event_chains where tenant_id = $1`,
      [tenantId],
    );
    const older = await engine.admin.query('select from events where tenant_id = $1 and created_at < $2', [
      tenantId,
      rows[0]!.from,
    ]);
    expect(older.rowCount).toBe(0);
    const { counts } = await engine.act((ctx) =>
      listEvents(ctx, {
        limit: 5,
        cursor: null,
        category: null,
        resourceType: null,
        resourceId: null,
        fromDate: null,
        toDate: null,
      }),
    );
    expect(counts).toEqual(await countAll(engine.admin, tenantId));
    const after = await verify(
      20,
      anchored.map((line) => ({ ...line, at: '2020-01-01T00:00:00.000Z' })),
    );
    expect(after.findings).toEqual([]);
    expect(after.events).toBeLessThan(before.events);
    await dropOldEvents(purge, 20);
    await fillLog(engine.admin, { tenantId, count: 10, days: 1 });
    await seal();
    expect((await verify(20, [])).findings).toEqual([]);
  });

  it('that another tenant delays leaves events without their seals, and that is no finding', async () => {
    const own = await openEngine();
    const ownPurge = new Purge(own.database);
    try {
      const deps = { purge: ownPurge, secrets };
      const { tenantId } = own.world;
      const late = await createWorld(own.database.unitOfWork);
      await prepareLog(own.admin, days);
      for (const each of [tenantId, late.tenantId]) {
        await fillLog(own.admin, { tenantId: each, count: 100, days });
      }
      await sealAll(own.admin, deps);
      await fillLog(own.admin, { tenantId: late.tenantId, count: 100, days });
      expect(await dropOldEvents(deps.purge, 20)).toEqual({
        dropped: 0,
        failed: 1,
        next: null,
        failedTenants: [late.tenantId],
      });
      const askOwn: Ask = async <Row extends object>(text: string, values: unknown[]) =>
        (await own.admin.query<Row>(text, values)).rows;
      const look = () => verifyChain(askOwn, tenantId, { anchors: [], retentionDays: 20 });
      expect((await look()).findings).toEqual([]);
      await own.admin.query(
        `insert into events (tenant_id, category, event_type, resource_type, resource_id, transaction_id)
         values ($1, 'space', 'space.updated', 'space', 'x', '3')`,
        [tenantId],
      );
      expect((await look()).findings.map(({ kind }) => kind)).toEqual(['event_added']);
    } finally {
      await ownPurge.close();
      await own.stop();
    }
  });

  it('cannot be faked: an early truncation is found', async () => {
    expect((await verify(365)).findings.map(({ kind }) => kind)).toContain('content_missing');
  });

  it.each([
    ['a month has ended', '2026-03-02T23:30:00.000Z', '2026-03-03T00:30:00.000Z', null, []],
    [
      'no month has ended',
      '2026-03-15T00:00:00.000Z',
      '2026-03-20T00:00:00.000Z',
      null,
      ['checkpoint_moved'],
    ],
    [
      'it is behind what was sealed in a kept month',
      '2026-03-02T23:30:00.000Z',
      '2026-03-03T00:30:00.000Z',
      '2026-02-03T00:00:00.000Z',
      ['checkpoint_moved'],
    ],
  ])('may move the beginning of a chain when %s', (_why, before, now, recent, kinds) => {
    const line = { tenant_id: engine.world.tenantId, event_count: 1, retention_days: 30, checkpoint_seq: 0 };
    const anchors = [
      ...(recent === null ? [] : [{ ...line, at: recent, seq: 5, head: 'aa' }]),
      { ...line, at: before, seq: 9, head: 'ab' },
    ];
    const chain = { checkpoint_seq: 7, now: new Date(now) } as ChainRow;
    const findings = checkAnchors({ anchors, chain, heads: new Map([[9, 'ab']]), retentionDays: 30 });
    expect(findings.map(({ kind }) => kind)).toEqual(kinds);
  });
});
