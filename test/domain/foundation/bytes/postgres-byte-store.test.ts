import { createHash, randomBytes } from 'node:crypto';
import type { EntityManager } from '@mikro-orm/postgresql';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { BytesNotFound, TooManyBytes } from '#domain/foundation/bytes/byte-store.ts';
import { inParts, partBytes, readAll } from '#domain/foundation/bytes/parts.ts';
import { PostgresByteStore } from '#domain/foundation/bytes/postgres-byte-store.ts';
import { openWorld, type KnowledgeWorld } from '#test/support/knowledge-world.ts';

let world: KnowledgeWorld;

beforeAll(async () => {
  world = await openWorld();
});
afterAll(async () => world.stop());

async function openStore() {
  const { tenantId } = await world.addSpace();
  const store = PostgresByteStore.inSteps(tenantId, (step) => world.unitOfWork.inTenant(tenantId, step));
  return { tenantId, store };
}

const documents = { purpose: 'documents', maxBytes: 10_000_000 } as const;

const partsOf = async (tenantId: string): Promise<number[]> =>
  (
    await world.admin.query<{ size: number }>(
      'select octet_length(bytes) as size from stored_parts where tenant_id = $1 order by key, position',
      [tenantId],
    )
  ).rows.map(({ size }) => size);

const objectsOf = async (tenantId: string): Promise<number> =>
  (await world.admin.query('select from stored_objects where tenant_id = $1', [tenantId])).rowCount ?? 0;

describe('the store of bytes in PostgreSQL', () => {
  it.each([0, 1, partBytes, partBytes + 1, 3 * partBytes - 7])(
    'gives %i bytes back as they came',
    async (size) => {
      const { tenantId, store } = await openStore();
      const bytes = randomBytes(size);
      const pieces = [bytes.subarray(0, 100_001), bytes.subarray(100_001)];
      const stored = await store.put(pieces, documents);
      expect(stored).toEqual({
        key: expect.stringMatching(/^documents\/[0-9a-f-]{36}$/),
        byteSize: size,
        sha256: createHash('sha256').update(bytes).digest('hex'),
      });
      expect(Buffer.from(await readAll(store.open(stored.key))).equals(bytes)).toBe(true);
      expect(await partsOf(tenantId)).toHaveLength(Math.ceil(size / partBytes));
      expect(Math.max(0, ...(await partsOf(tenantId)))).toBeLessThanOrEqual(partBytes);
    },
  );

  it('looks equal content up by its hash, under row-level security as well', async () => {
    const { tenantId } = await openStore();
    const plan = await world.unitOfWork.inTenant(tenantId, async (em) => {
      // A table of a few rows is read as a whole.
      await em.execute('set local enable_seqscan = off');
      await em.execute('set local enable_bitmapscan = off');
      const plans: object[][] = [];
      const execute = async (sql: string, values: unknown[]) => {
        plans.push(await em.execute(`explain (format json) ${sql}`, values));
        return [];
      };
      const store = PostgresByteStore.within(tenantId, { execute } as unknown as EntityManager);
      const content = new Map([['ab'.repeat(32), new Uint8Array(0)]]);
      await store.putAll(content, 'documents');
      return JSON.stringify(plans[1]);
    });
    expect(plan).toMatch(/"Index Cond":"[^"]*sha256 = ANY/);
  });

  it('writes while it reads, with no transaction open between two parts', async () => {
    const { tenantId, store } = await openStore();
    const seen: number[] = [];
    async function* slow() {
      for (let n = 0; n < 3; n += 1) {
        const open = await world.admin.query(
          `select from pg_stat_activity where datname = current_database() and state like 'idle in transaction%'`,
        );
        expect(open.rowCount).toBe(0);
        seen.push((await partsOf(tenantId)).length);
        yield randomBytes(partBytes);
      }
    }
    await store.put(slow(), documents);
    expect(seen).toEqual([0, 1, 2]);
  });

  it('refuses to finish an object that was deleted while its stream was read', async () => {
    const { tenantId, store } = await openStore();
    async function* late() {
      yield Buffer.alloc(0);
      await world.admin.query('delete from stored_objects where tenant_id = $1', [tenantId]);
    }
    await expect(store.put(late(), documents)).rejects.toThrow(BytesNotFound);
    expect(await objectsOf(tenantId)).toBe(0);
  });

  it('takes as many bytes as it may and not one more, of which nothing is left', async () => {
    const { tenantId, store } = await openStore();
    const maxBytes = partBytes + 10;
    const bytes = randomBytes(maxBytes + 1);
    const pieces = [bytes.subarray(0, partBytes), bytes.subarray(partBytes)];
    await expect(store.put(pieces, { ...documents, maxBytes })).rejects.toThrow(TooManyBytes);
    expect([await objectsOf(tenantId), await partsOf(tenantId)]).toEqual([0, []]);
    const { byteSize } = await store.put([bytes.subarray(1)], { ...documents, maxBytes });
    expect(byteSize).toBe(maxBytes);
  });

  it('leaves nothing of a stream that breaks', async () => {
    const { tenantId, store } = await openStore();
    async function* broken() {
      yield randomBytes(2 * partBytes);
      throw new Error('the line is gone');
    }
    await expect(store.put(broken(), documents)).rejects.toThrow('the line is gone');
    expect([await objectsOf(tenantId), await partsOf(tenantId)]).toEqual([0, []]);
  });

  it('stores equal bytes of a tenant once, also when they come at once', async () => {
    const { tenantId, store } = await openStore();
    const bytes = randomBytes(partBytes + 1);
    const keys = await Promise.all([1, 2, 3].map(async () => (await store.put([bytes], documents)).key));
    expect(new Set(keys).size).toBe(1);
    expect(await partsOf(tenantId)).toEqual([partBytes, 1]);
  });

  it('stores equal bytes of two tenants apart, and knows no key of another tenant', async () => {
    const [mine, theirs] = [await openStore(), await openStore()];
    const bytes = randomBytes(100);
    const key = (await mine.store.put([bytes], documents)).key;
    const other = (await theirs.store.put([bytes], documents)).key;
    expect(other).not.toBe(key);
    await expect(readAll(theirs.store.open(key))).rejects.toThrow(BytesNotFound);
    await theirs.store.delete(key);
    expect(Buffer.from(await readAll(mine.store.open(key))).equals(bytes)).toBe(true);
    expect(await theirs.store.list('', { after: '', limit: 10 })).toEqual([other]);
    // A session of one tenant is shown nothing of the other either, whatever tenant the statement names.
    const { tenantId } = mine;
    const disguised = PostgresByteStore.inSteps(tenantId, (step) =>
      world.unitOfWork.inTenant(theirs.tenantId, step),
    );
    await expect(readAll(disguised.open(key))).rejects.toThrow(BytesNotFound);
    await expect(disguised.put([bytes], documents)).rejects.toThrow('row-level security');
  });

  it('says so when bytes are deleted while they are read', async () => {
    const { store } = await openStore();
    const { key } = await store.put([randomBytes(2 * partBytes)], documents);
    const reading = store.open(key)[Symbol.asyncIterator]();
    await reading.next();
    await store.delete(key);
    await expect(reading.next()).rejects.toThrow(BytesNotFound);
  });

  it('lists keys by their beginning, page by page, until they are deleted', async () => {
    const { tenantId, store } = await openStore();
    const keys: string[] = [];
    for (let n = 0; n < 3; n += 1) {
      keys.push((await store.put([randomBytes(9)], documents)).key);
    }
    keys.sort();
    expect(await store.list('documents/', { after: '', limit: 2 })).toEqual(keys.slice(0, 2));
    expect(await store.list('documents/', { after: keys[1]!, limit: 2 })).toEqual(keys.slice(2));
    expect(await store.list('other/', { after: '', limit: 2 })).toEqual([]);
    for (const key of keys) {
      await store.delete(key);
    }
    expect([await objectsOf(tenantId), await partsOf(tenantId)]).toEqual([0, []]);
  });
});

it('a stream is cut into parts of one size without being held', async () => {
  let made = 0;
  function* endless() {
    for (;;) {
      made += 1;
      yield new Uint8Array(100_000);
    }
  }
  const parts = inParts(endless(), Infinity);
  expect((await parts.next()).value).toHaveLength(partBytes);
  expect(made).toBe(3);
  await parts.return(undefined);
});
