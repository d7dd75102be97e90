import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Anchor, AnchorLog } from '#domain/foundation/events/anchor.ts';
import { anchorLog, dropLog, sealLog } from '#domain/operations/maintenance/event-log.ts';
import type { Round } from '#domain/operations/sweep-kinds/round.ts';
import type { SweepDependencies } from '#domain/operations/sweep-kinds/sweep.ts';
import { openEngine, type Engine } from '../../../support/engine.ts';
import { fillLog, idAt, prepareLog, sealAll, untilSealable } from '../../../support/event-log.ts';
import { Purge } from '../../../support/purge.ts';
import { roundOf } from '../../../support/sweeps.ts';
import { createWorld, secrets } from '../../../support/world.ts';

const days = 70;
let engine: Engine;
let purge: Purge;
let tenants: string[];

beforeAll(async () => {
  engine = await openEngine();
  purge = new Purge(engine.database);
  await prepareLog(engine.admin, days);
  tenants = [engine.world.tenantId];
  while (tenants.length < 3) tenants.push((await createWorld(engine.database.unitOfWork)).tenantId);
  await sealAll(engine.admin, { purge, secrets });
});
afterAll(async () => {
  await purge?.close();
  await engine?.stop();
});

const anchored: Anchor[] = [];
const last = new Map<string, Anchor>();
const anchors: AnchorLog = {
  append: async (lines) => {
    anchored.push(...lines);
    lines.forEach((line) => last.set(line.tenant_id, line));
    return true;
  },
  lastOf: (tenantId) => last.get(tenantId),
};
const deps = () => ({ purge, secrets, anchors, eventRetentionDays: 20 }) as unknown as SweepDependencies;
const sealedSince = async (before: Map<string, number>) => {
  const now = await positions();
  return tenants.filter((tenantId) => now.get(tenantId)! > before.get(tenantId)!);
};
const positions = async () => {
  const { rows } = await engine.admin.query<{ id: string; seq: number }>(
    'select tenant_id as id, seq::integer from event_chains',
  );
  return new Map(rows.map(({ id, seq }) => [id, seq]));
};

describe('rounds of sealing', () => {
  it('that each have time for one tenant reach every tenant, although all go on writing', async () => {
    const before = await positions();
    let place: Round['place'] = null;
    const places: Round['place'][] = [];
    const reported: Round['place'][] = [];
    for (let turn = 0; turn < tenants.length; turn += 1) {
      for (const tenantId of tenants) await fillLog(engine.admin, { tenantId, count: 5, days: 1 });
      await untilSealable(engine.admin);
      const round = roundOf({ place, mayGoOn: () => false });
      ({ next: place } = await sealLog.run(deps(), round));
      places.push(place);
      reported.push(...round.places);
    }
    expect(await sealedSince(before)).toEqual(tenants);
    expect(reported).toEqual(places);
  });

  it('that begin in the middle also seal what is before it', async () => {
    for (const tenantId of tenants) await fillLog(engine.admin, { tenantId, count: 5, days: 1 });
    const before = await positions();
    await untilSealable(engine.admin);
    const place = [tenants.toSorted().at(-2)!];
    expect(await sealLog.run(deps(), roundOf({ place }))).toMatchObject({ failed: 0, next: null });
    expect(await sealedSince(before)).toEqual(tenants);
  });
});

describe('rounds of anchoring', () => {
  const anchoredBy = async (round: Round) => {
    anchored.splice(0);
    const result = await anchorLog.run(deps(), round);
    return { result, ids: anchored.map(({ tenant_id: id }) => id) };
  };

  it('write each head once, then only those that changed, and each again after a day', async () => {
    await sealAll(engine.admin, { purge, secrets });
    expect((await anchoredBy(roundOf())).ids.toSorted()).toEqual(tenants.toSorted());
    expect((await anchoredBy(roundOf())).ids).toEqual([]);
    await fillLog(engine.admin, { tenantId: tenants[1]!, count: 5, days: 1 });
    await sealAll(engine.admin, { purge, secrets });
    expect((await anchoredBy(roundOf())).ids).toEqual([tenants[1]]);
    const yesterday = new Date(Date.now() - 25 * 3_600_000).toISOString();
    last.set(tenants[2]!, { ...last.get(tenants[2]!)!, at: yesterday });
    expect((await anchoredBy(roundOf())).ids).toEqual([tenants[2]]);
  });

  it('end when their time is up, and the next goes on from there', async () => {
    last.clear();
    const all: string[] = [];
    let place: Round['place'] = null;
    for (let turn = 0; turn < tenants.length; turn += 1) {
      const { result, ids } = await anchoredBy(roundOf({ place, mayGoOn: () => false }));
      place = result.next;
      all.push(...ids);
    }
    expect(all).toEqual(tenants.toSorted());
  });
});

describe('the retention of the log', () => {
  const old = (tenantId: string) =>
    engine.admin.query(
      `insert into events (tenant_id, id, category, event_type, resource_type, resource_id)
       values ($1, ${idAt("now() - interval '65 days'")}, 'space', 'space.updated', 'space', 'x')`,
      [tenantId],
    );
  const setStatus = (tenantId: string, status: string) =>
    engine.admin.query('update tenants set status = $2 where tenant_id = $1', [tenantId, status]);

  it('names the tenant whose unsealed events hold it up', async () => {
    await sealAll(engine.admin, { purge, secrets });
    await old(tenants[1]!);
    expect(await dropLog.run(deps(), roundOf())).toEqual({
      done: 0,
      failed: 1,
      next: null,
      failedTenants: [tenants[1]],
    });
  });

  it('does not wait for a tenant that is being erased, whose events are not sealed any more', async () => {
    await setStatus(tenants[1]!, 'deleting');
    const { done, failed } = await dropLog.run(deps(), roundOf());
    expect({ failed, dropped: done > 0 }).toEqual({ failed: 0, dropped: true });
  });
});
