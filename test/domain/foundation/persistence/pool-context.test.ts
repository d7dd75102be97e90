import { setTimeout as sleep } from 'node:timers/promises';
import type { EntityManager, MikroORM } from '@mikro-orm/postgresql';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { newId } from '#domain/foundation/kernel/ids.ts';
import { isDatabaseUnavailable } from '#domain/foundation/persistence/is-unavailable.ts';
import { Database } from '#domain/foundation/persistence/database.ts';
import { createOrm } from '#domain/operations/schema/orm.ts';
import { UnitOfWork } from '#domain/foundation/persistence/unit-of-work.ts';
import { Space } from '#domain/workspace/spaces/space.entity.ts';
import { createTestDatabase, type TestDatabase } from '../../../support/database.ts';
import { connect } from '../../../support/tables.ts';
import { createWorld, type World } from '../../../support/world.ts';

const transactions = 2_000;
const connections = 3;
/** More than there are connections, so that connections pass between tenants. */
const lanes = 10;
const statementTimeoutMs = 10_000;

let database: TestDatabase;
let orm: MikroORM;
let hot: Database;
let unitOfWork: UnitOfWork;
let worlds: World[];

beforeAll(async () => {
  database = await createTestDatabase();
  worlds = await Promise.all(Array.from({ length: 3 }, () => createWorld(database.unitOfWork)));
  const options = { url: database.url, statementTimeoutMs, poolSize: connections };
  orm = createOrm(options);
  hot = new Database(options);
  unitOfWork = new UnitOfWork(orm);
});
afterAll(async () => {
  await Promise.all([orm?.close(true), hot?.close()]);
  await database?.drop();
});

type Ending = (em: EntityManager) => Promise<unknown>;
const asleep = (em: EntityManager, before: string) => em.execute(`select ${before}, pg_sleep(10)`);

/** Ways for a transaction to end other than by commit, and the share of each. */
const endings: Record<string, { oneIn: number; end: Ending }> = {
  thrown: { oneIn: 10, end: () => Promise.reject(new Error('changed its mind')) },
  aborted: { oneIn: 15, end: (em) => em.execute('select 1 / 0') },
  cancelled: { oneIn: 25, end: (em) => asleep(em, 'pg_cancel_backend(pg_backend_pid())') },
  killed: { oneIn: 250, end: (em) => asleep(em, 'pg_terminate_backend(pg_backend_pid())') },
  'timed out': {
    oneIn: 50,
    end: async (em) => {
      await em.execute(`set local statement_timeout = '5ms'`);
      await asleep(em, '0');
    },
  },
};

function endingOf(index: number): string | undefined {
  return Object.keys(endings).find((name, place) => (index + place) % endings[name]!.oneIn === 0);
}

interface Sight {
  connection: number;
  tenant: string | null;
  /** The rows visible without a tenant. */
  tenants: string[] | null;
}

const sight = `select pg_backend_pid() as connection, nullif(current_setting('app.tenant_id', true), '') as tenant,
  (select array_agg(distinct tenant_id::text) from principals) as tenants`;
const connection: unknown = expect.any(Number);
const ofNobody = { connection, tenant: null, tenants: null };
const ofOnly = ({ tenantId }: World) => ({ connection, tenant: tenantId, tenants: [tenantId] });

/** The tenants that each connection has served. */
const served = new Map<number, Set<string>>();

async function look(em: EntityManager, world: World): Promise<void> {
  const [seen] = await em.execute<Sight[]>(sight);
  expect(seen).toEqual(ofOnly(world));
  served.set(seen!.connection, (served.get(seen!.connection) ?? new Set()).add(world.tenantId));
}

/**
 * A transaction that checks its visible rows at the start and after others have run, and writes in between.
 */
async function transact(world: World, ending: string | undefined): Promise<void> {
  await unitOfWork.inTenant(world.tenantId, async (em) => {
    await look(em, world);
    em.create(Space, { tenantId: world.tenantId, id: newId(), name: 'written' });
    await em.flush();
    await sleep(Math.random());
    await look(em, world);
    await endings[ending ?? '']?.end(em);
  });
}

/**
 * The state that the next user of a connection finds, in the ORM's pool and in that of hot SQL, before and
 * after a tenant's call.
 */
async function lookBetween(world: World, other: World): Promise<void> {
  const unowned = await unitOfWork.acrossTenants((em) => em.execute<Sight[]>(sight));
  expect(unowned).toEqual([ofNobody]);
  const access = 'select app.read_access($1, $2, null) is not null as found';
  const [own, theirs] = await Promise.all(
    [world, other].map(({ owner }) => hot.call('access', access, [world.tenantId, owner.principalId])),
  );
  expect([own, theirs]).toEqual([[{ found: true }], [{ found: false }]]);
  expect(await hot.call('sight', sight, [])).toEqual([ofNobody]);
}

it('each of 2,000 transactions on 3 connections sees its own tenant’s rows only, however earlier ones ended', async () => {
  const written = new Map(worlds.map(({ tenantId }) => [tenantId, 1]));
  const ended = new Map<string, number>();
  const wrong: unknown[] = [];
  let next = 0;
  const lane = async () => {
    for (let index = next++; index < transactions; index = next++) {
      const world = worlds[index % worlds.length]!;
      const ending = endingOf(index);
      try {
        await transact(world, ending);
        if (ending !== undefined) wrong.push(`${ending} and yet committed`);
        written.set(world.tenantId, written.get(world.tenantId)! + 1);
      } catch (error) {
        if (ending === undefined || isWrong(ending, error)) wrong.push(error);
        ended.set(ending ?? 'commit', (ended.get(ending ?? 'commit') ?? 0) + 1);
      }
      if (index % 10 === 0) {
        await lookBetween(world, worlds[(index + 1) % worlds.length]!).catch((error) => wrong.push(error));
      }
    }
  };
  await Promise.all(Array.from({ length: lanes }, lane));
  expect(wrong).toEqual([]);
  for (const [ending, { oneIn }] of Object.entries(endings)) {
    expect(ended.get(ending), ending).toBeGreaterThan(transactions / oneIn / 2);
  }
  // Never more at once than the pool's size; each killed connection had a successor, and most served all
  // tenants.
  expect(served.size).toBeLessThanOrEqual(connections + ended.get('killed')!);
  expect([...served.values()].filter(({ size }) => size === worlds.length).length).toBeGreaterThan(
    served.size / 2,
  );
  const admin = await connect(database.adminUrl);
  const { rows } = await admin.query<{ tenant_id: string; n: number }>(
    'select tenant_id, count(*)::int as n from spaces group by 1',
  );
  await admin.end();
  expect(new Map(rows.map(({ tenant_id, n }) => [tenant_id, n]))).toEqual(written);
});

/** Every error except the expected one of this ending. */
function isWrong(ending: string, error: unknown): boolean {
  const { message } = error as Error;
  switch (ending) {
    case 'thrown':
      return message !== 'changed its mind';
    case 'aborted':
      return !message.includes('division by zero');
    default:
      return !isDatabaseUnavailable(error);
  }
}
