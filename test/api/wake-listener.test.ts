import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { pino } from 'pino';
import { Client } from 'pg';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { retryAfterMs, WakeListener } from '#api/sse/wake-listener.ts';
import { Database } from '#domain/foundation/persistence/database.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { startDeafRelay } from '../support/deaf-relay.ts';
import { notificationResponse, serverMessages, startPostgresRelay } from '../support/postgres-relay.ts';

let database: TestDatabase;
let admin: Client;
const endings: (() => Promise<unknown>)[] = [];

beforeAll(async () => {
  database = await createTestDatabase();
  admin = new Client({ connectionString: database.adminUrl });
  await admin.connect();
});
afterEach(async () => {
  for (const end of endings.splice(0).toReversed()) await end();
});
afterAll(async () => {
  await admin?.end();
  await database?.drop();
});

interface Notified {
  listener: WakeListener;
  database: Database;
  /** Its log messages, in order. */
  logged: string[];
  /** How often it connected. */
  ups: number;
  /** Tenants whose access changed. */
  changed: string[];
}

function listenTo(url: string, poolSize = 1): Notified {
  const hot = new Database({ url, poolSize, statementTimeoutMs: 60_000 });
  const notified = { database: hot, logged: [] as string[], ups: 0, changed: [] as string[] };
  const handlers = {
    onWake: () => undefined,
    onAccessChange: (tenantId: string) => void notified.changed.push(tenantId),
    onReconnect: () => void (notified.ups += 1),
    onLost: () => undefined,
    onBeat: () => undefined,
  };
  const write = (line: string) => void notified.logged.push((JSON.parse(line) as { msg: string }).msg);
  const listener = new WakeListener(hot, handlers, pino({ level: 'info' }, { write }));
  endings.push(
    () => hot.close(),
    () => listener.stop(),
  );
  return Object.assign(notified, { listener });
}

/** The last statements of this database's connections, without those of this test. */
async function asked(pools = false): Promise<string[]> {
  const { rows } = await admin.query<{ query: string }>(
    `select query from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()
     and application_name like 'platform%' = $1`,
    [pools],
  );
  return rows.map(({ query }) => query);
}

describe('the listening connection', () => {
  it('is aborted by a stop during a probe', async () => {
    const relay = await startDeafRelay(database.url);
    endings.push(() => relay.close());
    const { listener, logged } = listenTo(relay.url);
    listener.start();
    await expect.poll(() => asked(), { interval: 10 }).toEqual(['listen wake']);
    await listener.stop();
    // Its timeout is three seconds.
    await expect.poll(() => asked(), { interval: 10, timeout: 2_500 }).toEqual([]);
    expect([listener.isUp, logged]).toEqual([false, []]);
  });

  it('is not retried after a stop; its failure is logged once', async () => {
    let tries = 0;
    const server = createServer((socket) => {
      tries += 1;
      socket.destroy();
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    endings.push(async () => once(server.close(), 'close'));
    const { port } = server.address() as AddressInfo;
    const { listener, logged } = listenTo(`postgres://nobody@127.0.0.1:${port}/none`);
    listener.start();
    await expect.poll(() => tries, { interval: 10 }).toBe(3);
    await expect.poll(() => logged, { interval: 10 }).toEqual(['the wake listener cannot connect']);
    await listener.stop();
    await sleep(4 * retryAfterMs(0));
    expect([tries, logged.length]).toEqual([3, 1]);
  });

  it('that receives nothing logs this once for any number of retries, and logs once that it works again', async () => {
    const relay = await startDeafRelay(database.url);
    endings.push(() => relay.close());
    const { listener, logged } = listenTo(relay.url);
    listener.start();
    const nothing =
      'the wake listener connects but receives no notifications, as behind a pooler in transaction mode';
    await expect.poll(() => logged, { interval: 10 }).toEqual([nothing]);
    for (const state of [[], ['listen wake'], []]) {
      await expect.poll(() => asked(), { interval: 10 }).toEqual(state);
    }
    relay.heal();
    await expect.poll(() => listener.isUp, { interval: 10 }).toBe(true);
    expect(logged).toEqual([nothing, 'the wake listener receives notifications again']);
  });

  it('connects while every connection of the pool is taken', async () => {
    const { listener, database: hot } = listenTo(database.url);
    const taken = hot.call('sleep', 'select pg_sleep(30)', []).catch(() => undefined);
    await expect.poll(() => asked(true)).toContain('select pg_sleep(30)');
    listener.start();
    await expect.poll(() => listener.isUp, { interval: 10 }).toBe(true);
    await admin.query(
      `select pg_terminate_backend(pid) from pg_stat_activity where query = 'select pg_sleep(30)'`,
    );
    await taken;
  });

  it('that ends during a probe does not count as connected', async () => {
    const { promise: gone, resolve: end } = Promise.withResolvers<void>();
    let arrived = 0;
    const relay = await startPostgresRelay(database.url, {
      fromServer: (to) => {
        let before = Promise.resolve();
        return serverMessages((type, message) => {
          if (type === notificationResponse && (arrived += 1) === 1) {
            // It receives the probe, and ends before the notifier has its answer.
            to.write(message);
            to.end();
            to.once('close', () => setTimeout(end, 100));
            return;
          }
          before = message.includes('pg_notify') ? gone : before;
          void before.then(() => to.write(message));
        });
      },
    });
    endings.push(() => relay.close());
    const notified = listenTo(relay.url);
    notified.listener.start();
    await expect.poll(() => notified.listener.isUp, { interval: 10 }).toBe(true);
    await admin.query(`select pg_notify('access', 'a tenant')`);
    await expect.poll(() => notified.changed).toEqual(['a tenant']);
    expect([notified.ups, arrived]).toEqual([1, 3]);
  });

  it('is retried at once where a database is expected back, and twice a minute where no notification arrives', () => {
    expect([0, 1, 2, 3, 7, 2_000].map(retryAfterMs)).toEqual([250, 500, 1_000, 2_000, 30_000, 30_000]);
  });
});

it('is probed less often while the gateway is idle, and at the normal rate once requests arrive', async () => {
  const hot = new Database({ url: database.url, poolSize: 1, statementTimeoutMs: 60_000 });
  const state = { idle: true, beats: 0 };
  const handlers = {
    onWake: () => undefined,
    onAccessChange: () => undefined,
    onReconnect: () => undefined,
    onLost: () => undefined,
    onBeat: () => void (state.beats += 1),
    isIdle: () => state.idle,
  };
  const listener = new WakeListener(hot, handlers, pino({ level: 'silent' }));
  endings.push(
    () => hot.close(),
    () => listener.stop(),
  );
  listener.start();
  await expect.poll(() => state.beats, { timeout: 10_000 }).toBeGreaterThan(0);
  await sleep(3_000);
  expect(state.beats).toBeLessThanOrEqual(3);
  state.idle = false;
  const before = state.beats;
  await expect.poll(() => state.beats, { timeout: 10_000 }).toBeGreaterThan(before + 3);
});
