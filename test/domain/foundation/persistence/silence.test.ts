import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newId } from '#domain/foundation/kernel/ids.ts';
import { ConnectionWatch } from '#domain/foundation/persistence/connection-watch.ts';
import { Database } from '#domain/foundation/persistence/database.ts';
import { isDatabaseUnavailable } from '#domain/foundation/persistence/is-unavailable.ts';
import { createOrm } from '#domain/operations/schema/orm.ts';
import { withStatementTimeout } from '#domain/foundation/persistence/statement-timeout.ts';
import { UnitOfWork } from '#domain/foundation/persistence/unit-of-work.ts';
import { Space } from '#domain/workspace/spaces/space.entity.ts';
import { createTestDatabase, type TestDatabase } from '../../../support/database.ts';
import {
  startSilentRelay,
  throughRelay,
  type SilentRelay,
  type SilentWay,
} from '../../../support/silent-relay.ts';
import { createWorld, type World } from '../../../support/world.ts';

const statementTimeoutMs = 500;
/** Our own timeout comes two seconds later, and is checked four times a second. */
const boundMs = statementTimeoutMs + 2_000;
const ways: SilentWay[] = ['both', 'to-server', 'to-client'];
const endings: (() => Promise<unknown>)[] = [];

let database: TestDatabase;
let world: World;

beforeAll(async () => {
  database = await createTestDatabase();
  world = await createWorld(database.unitOfWork);
});
afterAll(async () => {
  for (const end of endings.toReversed()) await end();
  await database?.drop();
});

interface Reached {
  relay: SilentRelay;
  hot: Database;
  unitOfWork: UnitOfWork;
  watch: ConnectionWatch;
  /** Calls that were not answered in time. */
  hung: () => number;
}

async function reach(poolSize = 1): Promise<Reached> {
  const { port } = new URL(database.url);
  const relay = await startSilentRelay({ port: Number(port) });
  let hung = 0;
  const watch = new ConnectionWatch(() => (hung += 1));
  const options = { url: throughRelay(database.url, relay), statementTimeoutMs, poolSize, watch };
  const hot = new Database(options);
  const orm = createOrm(options);
  endings.push(
    () => hot.close(),
    () => orm.close(true),
    () => relay.close(),
  );
  return { relay, hot, unitOfWork: new UnitOfWork(orm), watch, hung: () => hung };
}

const one = (hot: Database) => hot.call<{ n: number }>('one', 'select 1 as n', []);

/** The result of an act, and its duration in milliseconds. */
async function ending(act: Promise<unknown>): Promise<{ unavailable: boolean; ms: number }> {
  const begun = performance.now();
  const unavailable = await act.then(() => false, isDatabaseUnavailable);
  return { unavailable, ms: performance.now() - begun };
}

// A measurement may be spoiled by a pause of the machine, but hardly three times.
describe.concurrent('a silent database', { retry: 2 }, () => {
  it('a call that is never answered ends as unavailable, and its connection leaves the pool, whichever direction is silent', async () => {
    await Promise.all(
      ways.map(async (way) => {
        const { relay, hot, watch, hung } = await reach();
        await one(hot);
        relay.silence({ way });
        const { unavailable, ms } = await ending(one(hot));
        expect(unavailable, way).toBe(true);
        expect(ms).toBeGreaterThan(boundMs - 50);
        expect(ms).toBeLessThan(boundMs + 3_000);
        expect(await one(hot), way).toEqual([{ n: 1 }]);
        expect(hung()).toBe(1);
        expect(watch.connections.inUse).toBe(0);
      }),
    );
  });

  it('a transaction whose begin, statement or commit is never answered ends as unavailable, and the pool of one serves the next', async () => {
    await Promise.all(
      ways.flatMap((way) =>
        (['begin', 'statement', 'commit'] as const).map(async (moment) => {
          const { relay, unitOfWork, watch } = await reach();
          const id = newId();
          await unitOfWork.inTenant(world.tenantId, (em) => em.execute('select 1'));
          if (moment === 'begin') relay.silence({ way });
          const write = unitOfWork.inTenant(world.tenantId, async (em) => {
            if (moment === 'statement') relay.silence({ way });
            em.create(Space, { tenantId: world.tenantId, id, name: 'written' });
            await em.flush();
            if (moment === 'commit') relay.silence({ way });
          });
          expect(await ending(write), `${moment} ${way}`).toMatchObject({ unavailable: true });
          const found = await unitOfWork.inTenant(world.tenantId, (em) => em.count(Space, { id }));
          // The commit arrived, only its answer did not: the writer has to look it up.
          if (way === 'to-client' && moment === 'commit') expect(found).toBe(1);
          else if (moment !== 'commit') expect(found).toBe(0);
          expect(watch.connections.inUse).toBe(0);
        }),
      ),
    );
  });

  it('a slow statement is cancelled by the server, and a statement with a longer limit is waited for', async () => {
    const { hot, unitOfWork, hung } = await reach();
    await expect(hot.call('slow', 'select pg_sleep(5)', [])).rejects.toMatchObject({ code: '57014' });
    const slept = await unitOfWork.inTenant(world.tenantId, (em) =>
      withStatementTimeout(em, 10_000, () => em.execute('select pg_sleep(2.9)::text as slept')),
    );
    expect(slept).toEqual([{ slept: '' }]);
    expect(hung()).toBe(0);
  });

  it('of a pool that has gone silent one call hangs, and no later one does', async () => {
    const { relay, hot } = await reach(6);
    await Promise.all(Array.from({ length: 6 }, () => hot.call('nap', 'select pg_sleep(0.1)', [])));
    expect(relay.open).toBe(6);
    relay.silence();
    expect((await ending(one(hot))).unavailable).toBe(true);
    for (let i = 0; i < 6; i += 1) {
      const { unavailable, ms } = await ending(one(hot));
      expect(unavailable).toBe(false);
      expect(ms).toBeLessThan(boundMs / 2);
    }
  });

  it('a server that accepts connections and never answers fails within the connect timeout', async () => {
    const { relay, hot, unitOfWork } = await reach();
    relay.silence({ awayMs: 4_000 });
    const [call, work] = await Promise.all([
      ending(one(hot)),
      ending(unitOfWork.inTenant(world.tenantId, (em) => em.execute('select 1'))),
    ]);
    expect([call.unavailable, work.unavailable]).toEqual([true, true]);
    expect(Math.max(call.ms, work.ms)).toBeLessThan(3_900);
  });
});

it('a pause of this process is not taken for the database’s silence', async () => {
  const { hot, hung } = await reach();
  await one(hot);
  const answer = hot.call('one', 'select 1 as n', [], { answerWithinMs: 500 });
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1_500);
  expect(await answer).toEqual([{ n: 1 }]);
  expect(hung()).toBe(0);
});
