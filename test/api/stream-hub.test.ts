import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createLogger } from '#adapters/telemetry/logger.ts';
import { StreamHub } from '#api/sse/stream-hub.ts';
import { newId } from '#domain/foundation/kernel/ids.ts';
import { eventHead } from '#domain/responses/record/stream-events.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';

const runs = [0, 1, 4, 9].map((firstN, i, all) => ({ firstN, n: (all[i + 1] ?? 12) - firstN }));

describe('the hub', () => {
  const tenantId = newId();
  const expiresAt = new Date(Date.now() + 86_400_000);
  let database: TestDatabase;
  let hub: StreamHub;

  beforeAll(async () => {
    database = await createTestDatabase();
    const admin = new Client({ connectionString: database.adminUrl });
    await admin.connect();
    await admin.query(`insert into tenants (tenant_id, slug, name) values ($1, 'hub', 'Hub')`, [tenantId]);
    await admin.query(
      `insert into response_ids (tenant_id, id, space_id, principal_id, created_at, expires_at)
       values ($1, 'resp_a', $1, $1, now(), $2)`,
      [tenantId, expiresAt],
    );
    for (const { firstN, n } of runs) {
      const lines = Array.from({ length: n }, (_, i) => `{"type":"t","sequence_number":${firstN + i}}`);
      await admin.query(
        `insert into stream_runs (tenant_id, response_id, first_n, n, events, expires_at)
         values ($1, 'resp_a', $2, $3, $4, $5)`,
        [tenantId, firstN, n, lines.join('\n'), expiresAt],
      );
    }
    await admin.end();
    hub = new StreamHub(database.database, createLogger('test', 'silent'));
  });

  afterAll(async () => {
    await hub?.stop();
    await database?.drop();
  });

  /** Resolves with the numbers delivered to the follower, once it has the last one. */
  const follow = (after: number): Promise<number[]> =>
    new Promise((resolve) => {
      const numbers: number[] = [];
      hub.attach({
        tenantId,
        responseId: 'resp_a',
        after,
        isReady: () => true,
        deliver: (lines) => {
          numbers.push(...lines.map((line) => eventHead(line).n));
          if (numbers.at(-1) === 11) resolve(numbers);
        },
        recheck: async () => undefined,
      });
    });

  it('delivers to each reader of one response everything after its own position, with one read for all', async () => {
    // The first one keeps the hub reading, so that the other three share a read.
    const all = await Promise.all([follow(10), follow(5), follow(-1), follow(3)]);
    expect(all).toEqual([[11], range(6), range(0), range(4)]);
  });

  it('rechecks its readers periodically without notifications, none twice at once and few together', async () => {
    const times = new Map<number, number>();
    const asked = new Set<number>();
    let limit = 0;
    let twiceAtOnce = 0;
    const attached = Array.from({ length: 120 }, (_, reader) =>
      hub.attach({
        tenantId,
        responseId: 'resp_a',
        after: 11,
        isReady: () => true,
        deliver: () => undefined,
        recheck: async () => {
          twiceAtOnce += asked.has(reader) ? 1 : 0;
          limit = Math.max(limit, asked.add(reader).size);
          // One recheck takes longer than a round.
          await sleep(reader === 0 ? 1_500 : 1);
          asked.delete(reader);
          times.set(reader, (times.get(reader) ?? 0) + 1);
        },
      }),
    );
    await expect
      .poll(() => Array.from(attached, (_, reader) => (times.get(reader) ?? 0) > 1))
      .not.toContain(false);
    attached.forEach((attachment) => attachment.detach());
    expect([limit, twiceAtOnce]).toEqual([50, 0]);
  });

  it.each([
    ['never ends', () => new Promise<void>(() => undefined)],
    ['fails', () => Promise.reject(new Error('failed'))],
  ])(
    'goes on to recheck its readers when that %s for one of them',
    async (_, first) => {
      const times = Array.from({ length: 60 }, () => 0);
      const attached = times.map((_none, reader) =>
        hub.attach({
          tenantId,
          responseId: 'resp_a',
          after: 11,
          isReady: () => true,
          deliver: () => undefined,
          recheck: () => {
            times[reader]! += 1;
            return reader === 0 ? first() : Promise.resolve();
          },
        }),
      );
      await expect.poll(() => Math.min(...times), { timeout: 10_000 }).toBeGreaterThan(1);
      attached.forEach((attachment) => attachment.detach());
    },
    15_000,
  );
});

function range(from: number): number[] {
  return Array.from({ length: 12 - from }, (_, i) => from + i);
}
