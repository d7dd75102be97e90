import { createAuthorizationServers } from '#adapters/authorization/authorization-servers.ts';
import type { MikroORM } from '@mikro-orm/postgresql';
import { MockActivityEnvironment } from '@temporalio/testing';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createMaintenanceActivities } from '#activities/maintenance/create-maintenance-activities.ts';
import { runRound } from '#activities/maintenance/run-round.ts';
import type { RoundResult } from '#domain/operations/sweep-kinds/round.ts';
import type { SweepDependencies } from '#domain/operations/sweep-kinds/sweep.ts';
import { sweepAges, claimDueSweeps } from '#domain/operations/maintenance/sweep-clock.ts';
import { sweepNames, type SweepName } from '#domain/operations/maintenance/sweeps.ts';
import { createOrm } from '#domain/operations/schema/orm.ts';
import { UnitOfWork } from '#domain/foundation/persistence/unit-of-work.ts';
import type { RoundInput } from '#workflows/run-sweep/messages.ts';
import { openEngine, type Engine } from '../support/engine.ts';
import { inspectorSaying } from '../support/sweeps.ts';
import { createWorld, secrets } from '../support/world.ts';

let engine: Engine;
let purgeOrm: MikroORM;
beforeAll(async () => {
  engine = await openEngine();
  purgeOrm = createOrm({ url: engine.database.purgeUrl, statementTimeoutMs: 30_000 });
});
afterAll(async () => {
  await purgeOrm?.close(true);
  await engine?.stop();
});
beforeEach(async () => {
  await engine.admin.query('truncate event_dedupe');
});

/** Old keys, one a second, in pages of 5,000. */
const addOldKeys = (count: number) =>
  engine.admin.query(
    `insert into event_dedupe (tenant_id, key, created_at)
     select $1, n::text, now() - interval '30 days' + n * interval '1 second' from generate_series(1, $2) n`,
    [engine.world.tenantId, count],
  );
const keysLeft = async () => (await engine.admin.query('select from event_dedupe')).rowCount;

/** Calls `between` before each transaction of a tenant. */
class Watched extends UnitOfWork {
  readonly #between: () => Promise<void> | void;

  constructor(orm: MikroORM, between: () => Promise<void> | void) {
    super(orm);
    this.#between = between;
  }

  override async inTenant<T>(...work: Parameters<UnitOfWork['inTenant']>): Promise<T> {
    await this.#between();
    return super.inTenant(...work) as Promise<T>;
  }
}

/** A round of one sweep as its worker runs it; `between` is called before each of its batches. */
function round(
  name: SweepName,
  {
    input = { place: null, budgetSeconds: 60 },
    between = () => undefined,
    info = {},
  }: {
    input?: RoundInput;
    between?: (environment: MockActivityEnvironment) => Promise<void> | void;
    info?: { heartbeatDetails?: unknown };
  } = {},
) {
  const environment = new MockActivityEnvironment(info);
  const beats: unknown[] = [];
  environment.on('heartbeat', (details: unknown) => beats.push(details));
  const deps: SweepDependencies = {
    ...engine.database,
    purge: new Watched(purgeOrm, () => between(environment)),
    inspector: inspectorSaying('open'),
    starter: { start: async () => {} },
    canceller: { cancel: () => Promise.resolve() },
    authorizationServers: createAuthorizationServers({ fetch }),
    secrets,
    anchors: { append: () => Promise.resolve(false), lastOf: () => undefined },
    eventRetentionDays: 365,
  };
  const result: Promise<RoundResult> = environment.run(createMaintenanceActivities(deps)[name]!, input);
  return { result, beats };
}

describe('a round of a sweep', () => {
  it('stops between two batches when it is cancelled, and returns its position', async () => {
    await addOldKeys(15_000);
    let batches = 0;
    const { result } = round('purgeStaleRows', {
      between: (environment) => {
        batches += 1;
        environment.cancel('TIMED_OUT');
      },
    });
    const { done, next } = await result;
    expect([batches, done, next?.[0]]).toEqual([1, 5_000, 'event_dedupe.created_at']);
    expect(await keysLeft()).toBe(10_000);
  });

  it('ends when its time is up, and the next goes on where it stopped', async () => {
    await addOldKeys(12_000);
    const first = await round('purgeStaleRows', { input: { place: null, budgetSeconds: 0 } }).result;
    expect(first).toMatchObject({ done: 5_000, failed: 0 });
    const second = await round('purgeStaleRows', { input: { place: first.next, budgetSeconds: 60 } }).result;
    expect(second).toEqual({ done: 7_000, failed: 0, next: null });
  });

  it('ends when its time is up also within a page that holds rows of many tenants', async () => {
    const others = await Promise.all([1, 2].map(() => createWorld(engine.database.unitOfWork, [])));
    await engine.admin.query(
      `insert into event_dedupe (tenant_id, key, created_at)
       select unnest($1::uuid[]), 'old', now() - interval '30 days'`,
      [[engine.world, ...others].map(({ tenantId }) => tenantId)],
    );
    const first = await round('purgeStaleRows', { input: { place: null, budgetSeconds: 0 } }).result;
    expect(first).toMatchObject({ done: 1, failed: 0 });
    const second = await round('purgeStaleRows', { input: { place: first.next, budgetSeconds: 60 } }).result;
    expect(second).toEqual({ done: 2, failed: 0, next: null });
  });

  it('continues at the position in the heartbeat of the lost attempt', async () => {
    await addOldKeys(12_000);
    const { next } = await round('purgeStaleRows', { input: { place: null, budgetSeconds: 0 } }).result;
    await addOldKeys(2);
    const again = round('purgeStaleRows', { info: { heartbeatDetails: { place: next } } });
    expect(await again.result).toEqual({ done: 7_000, failed: 0, next: null });
    expect(again.beats[0]).toEqual({ place: next });
    expect(await keysLeft()).toBe(2);
  });

  it('sends heartbeats with its position while it waits for the database', async () => {
    await addOldKeys(1);
    let release = () => undefined as void;
    const held = new Promise<void>((resolve) => (release = resolve));
    const { result, beats } = round('purgeStaleRows', { between: () => held });
    await expect.poll(() => beats.length, { timeout: 5_000 }).toBeGreaterThan(1);
    release();
    expect(await result).toMatchObject({ done: 1 });
  });

  it.each(sweepNames)('%s has one, which notes its success', async (name) => {
    await claimDueSweeps(engine.database.database, { [name]: 3_600 });
    await engine.admin.query(`update app.sweeps set succeeded_at = now() - interval '1 hour'`);
    expect(await round(name).result).toMatchObject({ failed: 0, next: null });
    const ages = await sweepAges(engine.database.database);
    expect(ages.find((age) => age.name === name)!.seconds).toBeLessThan(60);
  });

  it('does not count as a success when a row failed', async () => {
    await claimDueSweeps(engine.database.database, { failing: 1 });
    await engine.admin.query(`update app.sweeps set succeeded_at = now() - interval '1 hour'`);
    const sweep = { run: () => Promise.resolve({ done: 0, failed: 1, next: null }) };
    const deps = engine.database as unknown as SweepDependencies;
    const input = { place: null, budgetSeconds: 1 };
    await new MockActivityEnvironment().run(() => runRound(deps, { name: 'failing', sweep }, input));
    const ages = await sweepAges(engine.database.database);
    expect(ages.find((age) => age.name === 'failing')!.seconds).toBeGreaterThan(3_000);
  });
});
