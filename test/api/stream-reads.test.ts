import { setTimeout as sleep } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { Client } from 'pg';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import type { Follower } from '#api/sse/follower.ts';
import { StreamHub } from '#api/sse/stream-hub.ts';
import { newId } from '#domain/foundation/kernel/ids.ts';
import { eventHead } from '#domain/responses/record/stream-events.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';

/** As many as one read returns. */
const runs = 50;
const tenantId = newId();

let database: TestDatabase;
let admin: Client;

beforeAll(async () => {
  setFlagsFromString('--expose-gc');
  database = await createTestDatabase();
  admin = new Client({ connectionString: database.adminUrl });
  await admin.connect();
  await admin.query(`insert into tenants (tenant_id, slug, name) values ($1, 'hub', 'Hub')`, [tenantId]);
  await store('resp_whole', (n) => n);
  await store('resp_gap', (n) => n + 3);
});
afterAll(async () => {
  setFlagsFromString('--no-expose-gc');
  await admin?.end();
  await database?.drop();
});

/** A response whose stream has a run for each event. */
async function store(id: string, numberOf: (n: number) => number): Promise<void> {
  const expiresAt = new Date(Date.now() + 86_400_000);
  await admin.query(
    `insert into response_ids (tenant_id, id, space_id, principal_id, created_at, expires_at)
     values ($1, $2, $1, $1, now(), $3)`,
    [tenantId, id, expiresAt],
  );
  await admin.query(
    `insert into stream_runs (tenant_id, response_id, first_n, n, events, expires_at)
     select $1, $2, n, 1, '{"type":"t","sequence_number":' || n || '}', $3
     from unnest($4::int[]) as n`,
    [tenantId, id, expiresAt, Array.from({ length: runs }, (_, n) => numberOf(n))],
  );
}

/** A hub whose listener is not started, as while notifications cannot arrive, with what it writes into the log. */
function openHub() {
  const lines: string[] = [];
  const hub = new StreamHub(
    database.database,
    pino({ level: 'info' }, { write: (line) => lines.push(line) }),
  );
  onTestFinished(() => hub.stop());
  return { hub, logged: () => lines.map((line) => (JSON.parse(line) as { msg: string }).msg) };
}

/** Attaches a reader. @returns the numbers that it is given */
function follow(hub: StreamHub, { after = -1, responseId = 'resp_whole' } = {}): number[] {
  const numbers: number[] = [];
  const attachment = hub.attach({
    tenantId,
    responseId,
    after,
    isReady: () => true,
    deliver: (lines) => numbers.push(...lines.map((line) => eventHead(line).n)),
    recheck: async () => undefined,
  });
  onTestFinished(() => attachment.detach());
  return numbers;
}

/** The number of reads of streams that begin, from now on. */
function countReads(): () => number {
  const hot = database.database;
  const call = hot.call.bind(hot);
  let reads = 0;
  hot.call = (name, ...rest) => {
    reads += name === 'read_streams' ? 1 : 0;
    return call(name, ...rest);
  };
  onTestFinished(() => void (hot.call = call));
  return () => reads;
}

describe('a database that cannot be read', () => {
  it('is asked by one retry at a time, each later than the last, and is logged once', async () => {
    const rename = (from: string, to: string) =>
      admin.query(`alter function app.${from}(uuid[], text[], integer[], integer) rename to ${to}`);
    await rename('read_streams', 'read_streams_away');
    let isAway = true;
    const back = async () => {
      if (isAway) await rename('read_streams_away', 'read_streams');
      isAway = false;
    };
    onTestFinished(back);
    const { hub, logged } = openHub();
    const reads = countReads();
    const numbers = [follow(hub), follow(hub, { after: 10 })];
    await sleep(8_000);
    // At 0, 0.5, 1.5, 3.5 and 7.5 seconds.
    expect(reads()).toBeGreaterThan(2);
    expect(reads()).toBeLessThan(7);
    expect(logged()).toEqual(['streams not readable']);
    await back();
    await expect.poll(() => numbers.map(({ length }) => length), { timeout: 10_000 }).toEqual([50, 39]);
    await expect.poll(logged).toEqual(['streams not readable', 'streams readable again']);
  }, 30_000);
});

describe('a stream with a gap', () => {
  it('delays no reader of another stream, and is logged once', async () => {
    const { hub, logged } = openHub();
    // The first one keeps the hub reading, so that the other two share a read.
    const first = follow(hub);
    const broken = follow(hub, { responseId: 'resp_gap' });
    const whole = follow(hub, { after: 20 });
    await expect.poll(() => [first.length, whole.length], { timeout: 500, interval: 10 }).toEqual([50, 29]);
    // Past the next rounds of polling.
    await sleep(2_000);
    expect(broken).toEqual([]);
    expect(logged()).toEqual(['the stored stream has a gap']);
  });
});

describe('a reader that has left', () => {
  /** Attaches a reader, which is not ready once it has left, and holds no reference to it. */
  const attach = (hub: StreamHub, { leaves, given }: { leaves: 'at once' | 'then'; given: () => void }) => {
    let hasLeft = false;
    const leave = () => {
      hasLeft = true;
      attachment.detach();
    };
    const follower: Follower = {
      tenantId,
      responseId: 'resp_whole',
      after: -1,
      isReady: () => !hasLeft,
      deliver: () => {
        given();
        leave();
      },
      recheck: async () => undefined,
    };
    const attachment = hub.attach(follower);
    if (leaves === 'at once') {
      leave();
    }
    return new WeakRef(follower);
  };
  const collected = (reference: WeakRef<Follower>) =>
    expect
      .poll(() => {
        (runInNewContext('gc') as () => void)();
        return reference.deref() === undefined;
      })
      .toBe(true);

  it('with its last events is not remembered', async () => {
    const { hub } = openHub();
    let given = 0;
    const reference = attach(hub, { leaves: 'then', given: () => (given += 1) });
    await expect.poll(() => given).toBe(1);
    await collected(reference);
    expect(given).toBe(1);
  });

  it('while its events are read is given none and not remembered', async () => {
    const { hub } = openHub();
    const reads = countReads();
    let given = 0;
    const reference = attach(hub, { leaves: 'at once', given: () => (given += 1) });
    expect(reads()).toBe(1);
    await sleep(200);
    expect(given).toBe(0);
    await collected(reference);
  });
});
