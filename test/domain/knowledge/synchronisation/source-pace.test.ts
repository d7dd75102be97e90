import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { paceOf } from '#activities/connectors/run-steps.ts';
import { newId } from '#domain/foundation/kernel/ids.ts';
import { UnitOfWork } from '#domain/foundation/persistence/unit-of-work.ts';
import { pauseHost, takeRequests } from '#domain/knowledge/synchronisation/source-pace.ts';
import { createOrm } from '#domain/operations/schema/orm.ts';
import { openWorld, type KnowledgeWorld } from '#test/support/knowledge-world.ts';

let world: KnowledgeWorld;
let second: ReturnType<typeof createOrm>;
/** Those of two workers: each has its own connections. */
let workers: UnitOfWork[];

beforeAll(async () => {
  world = await openWorld();
  second = createOrm({ url: world.url, statementTimeoutMs: 10_000 });
  workers = [world.unitOfWork, new UnitOfWork(second)];
});
afterAll(async () => {
  await second?.close(true);
  await world?.stop();
});

/** A host that nobody has asked yet. */
async function newHost(name = `${newId()}.example`) {
  const { tenantId } = await world.addSpace();
  const place = { tenantId, host: name };
  /** When the last request that did not wait was sent. */
  let since = performance.now();
  return {
    place,
    /** Waits become shorter while the test itself takes its time, and never longer. */
    about: (waitMs: number, expectedMs: number) => {
      expect(waitMs).toBeLessThanOrEqual(expectedMs);
      expect(waitMs).toBeGreaterThan(expectedMs - (performance.now() - since) - 50);
    },
    take: async (count: number, worker = 0) => {
      const at = performance.now();
      const waitMs = await workers[worker]!.inTenant(tenantId, (em) => takeRequests(em, { ...place, count }));
      if (waitMs === 0) since = at;
      return waitMs;
    },
    pause: (ms: number) => workers[0]!.inTenant(tenantId, (em) => pauseHost(em, { ...place, ms })),
  };
}

it('a new host takes a burst without a wait, and after it one request every two milliseconds', async () => {
  const host = await newHost();
  expect(await host.take(500)).toBe(0);
  host.about(await host.take(5_000), 10_000);
  host.about(await host.take(1), 10_002);
});

it('a host that was not asked for long has a whole burst again, and no more', async () => {
  const host = await newHost();
  await host.take(500);
  await sleep(1_200);
  expect(await host.take(500)).toBe(0);
  host.about(await host.take(1_000), 2_000);
});

it('two workers take from one bucket, and none of their requests is lost when they ask at the same time', async () => {
  const host = await newHost();
  const waits = await Promise.all(Array.from({ length: 20 }, (_, n) => host.take(500, n % 2)));
  host.about(Math.max(...waits), 19_000);
  expect(new Set(waits).size).toBeGreaterThan(15);
  host.about(await host.take(500, 1), 20_000);
});

it('a pause that the host asks for holds for every worker, and a shorter one does not shorten it', async () => {
  const host = await newHost();
  await host.pause(60_000);
  await host.pause(1_000);
  host.about(await host.take(1, 0), 60_002);
  host.about(await host.take(1, 1), 60_004);
});

it('a pause is no longer one once it is over', async () => {
  const host = await newHost();
  await host.pause(300);
  await sleep(400);
  expect(await host.take(1)).toBe(0);
});

it('hosts and tenants are apart: nobody waits for the requests or the pauses of another', async () => {
  const here = await newHost('files.example');
  const abroad = await newHost('files.example');
  await here.pause(60_000);
  expect(await abroad.take(500)).toBe(0);
  const { tenantId } = here.place;
  const other = { tenantId, host: 'other.example', count: 500 };
  expect(await workers[0]!.inTenant(tenantId, (em) => takeRequests(em, other))).toBe(0);
  here.about(await here.take(1), 60_002);
});

it('a step waits for its turn, ends with its signal, and leaves a long wait to the workflow', async () => {
  const host = await newHost();
  const paced = (maxWaitMs: number) => paceOf(workers[0]!, { ...host.place, maxWaitMs });
  const staying = new AbortController().signal;
  await host.take(500);
  const began = performance.now();
  await host.pause(1_000);
  await paced(20_000)(1, staying);
  expect(performance.now() - began).toBeGreaterThan(990);

  await host.pause(30_000);
  await expect(paced(20_000)(1, staying)).rejects.toMatchObject({
    code: 'rate_limited',
    retryAfterMs: expect.toSatisfy((ms: number) => ms > 20_000 && ms < 30_100) as number,
  });
  const left = new AbortController();
  const waiting = paced(60_000)(1, left.signal);
  setTimeout(() => left.abort(new Error('The run was cancelled.')), 50);
  await expect(waiting).rejects.toThrow('The run was cancelled.');
});
