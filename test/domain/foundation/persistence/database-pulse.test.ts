import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { DatabasePulse } from '#domain/foundation/persistence/database-pulse.ts';
import { Database } from '#domain/foundation/persistence/database.ts';
import { createTestDatabase, type TestDatabase } from '../../../support/database.ts';
import { startSilentRelay, throughRelay } from '../../../support/silent-relay.ts';

let database: TestDatabase;

beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database?.drop());

it('queries PostgreSQL only while no other call is answered, and reports its silence and its return', async () => {
  const relay = await startSilentRelay({ port: Number(new URL(database.url).port) });
  const hot = new Database({ url: throughRelay(database.url, relay), poolSize: 1, statementTimeoutMs: 500 });
  let asked = 0;
  const newClient = hot.newClient.bind(hot);
  hot.newClient = () => {
    asked += 1;
    return newClient();
  };
  const changes: boolean[] = [];
  const pulse: DatabasePulse = new DatabasePulse(hot, () => changes.push(pulse.isAway));
  try {
    await hot.answers();
    pulse.start();
    for (let n = 0; n < 12; n += 1) {
      await sleep(250);
      await hot.answers();
    }
    expect({ asked, away: pulse.isAway, changes }).toEqual({ asked: 0, away: false, changes: [false] });
    await expect.poll(() => asked, { timeout: 5_000 }).toBe(1);
    const silentAt = performance.now();
    relay.silence({ awayMs: 11_000 });
    await expect.poll(() => changes, { timeout: 10_500 }).toEqual([false, true]);
    expect(performance.now() - silentAt).toBeLessThan(10_000);
    await expect.poll(() => changes, { timeout: 10_000 }).toEqual([false, true, false]);
  } finally {
    await pulse.stop();
    await hot.close();
    await relay.close();
  }
});
