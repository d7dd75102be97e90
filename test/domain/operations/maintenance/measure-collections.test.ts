import { afterAll, beforeAll, expect, it } from 'vitest';
import { newId } from '#domain/foundation/kernel/ids.ts';
import { Database } from '#domain/foundation/persistence/database.ts';
import { createCollection } from '#domain/knowledge/collections/create-collection.ts';
import { uploadDocument } from '#domain/knowledge/collections/upload-document.ts';
import { finishIngestion } from '#domain/knowledge/ingestion/finish-ingestion.ts';
import { storePassages } from '#domain/knowledge/ingestion/store-passages.ts';
import { measureCollections } from '#domain/operations/maintenance/measure-collections.ts';
import type { SweepDependencies } from '#domain/operations/sweep-kinds/sweep.ts';
import { openWorld, type KnowledgeWorld } from '../../../support/knowledge-world.ts';
import { roundOf, sweepOnce } from '../../../support/sweeps.ts';

let world: KnowledgeWorld;
let database: Database;
let deps: SweepDependencies;

beforeAll(async () => {
  world = await openWorld();
  database = new Database({ url: world.url, statementTimeoutMs: 30_000 });
  deps = { database, unitOfWork: world.unitOfWork } as SweepDependencies;
});
afterAll(async () => {
  await database?.close();
  await world?.stop();
});

/** A collection of a new tenant, stored by a version without statistics. */
async function filled(passages: number): Promise<string> {
  const space = await world.addSpace();
  const { collection } = await world.act(space, (ctx) => createCollection(ctx, { name: 'C' }));
  const { document } = await world.act(space, (ctx) =>
    uploadDocument(ctx, {
      collectionId: collection.id,
      filename: 'a.txt',
      mediaType: 'text/plain',
      content: 'x',
    }),
  );
  const chunks = Array.from({ length: passages }, (_, n) => ({
    heading: null,
    start: 0,
    end: 1,
    page: null,
    anchor: null,
    text: `pump number${n} ${n % 4 === 0 ? 'quarter' : 'rest'}`,
  }));
  await world.admin.query('alter table collections disable trigger refresh_lexeme_stats');
  await world.unitOfWork.inTenant(space.tenantId, async (em) => {
    await storePassages(em, { documentId: document.id, readingId: newId(), chunks });
    await finishIngestion(em, document.id, null);
  });
  await world.admin.query('alter table collections enable trigger refresh_lexeme_stats');
  return collection.id;
}

async function measured(collectionId: string) {
  const { rows } = await world.admin.query<{ lexeme: string; df: number }>(
    'select lexeme, df from lexeme_stats where collection_id = $1 order by df desc',
    [collectionId],
  );
  const { rows: counts } = await world.admin.query(
    'select chunk_count::int4 as n, lexeme_chunks::int4 as of from collections where id = $1',
    [collectionId],
  );
  return { ...counts[0], df: Object.fromEntries(rows.map(({ lexeme, df }) => [lexeme, df])) };
}

it('large collections of an earlier version get their document frequencies, once, and small ones none', async () => {
  expect(await measureCollections.isDue!(deps)).toBe(false);
  const [one, two, small] = [await filled(2_400), await filled(2_000), await filled(1_999)];
  expect(await measured(one)).toEqual({ n: 2_400, of: 0, df: {} });
  expect(await measureCollections.isDue!(deps)).toBe(true);
  // A round without time measures one collection; the next goes on behind it.
  const first = await measureCollections.run(deps, roundOf({ mayGoOn: () => false }));
  expect(first).toMatchObject({ done: 1, failed: 0, next: expect.any(Array) });
  const rest = await measureCollections.run(deps, roundOf({ place: first.next }));
  expect(rest).toMatchObject({ done: 1, failed: 0, next: null });
  expect(await measured(one)).toEqual({
    n: 2_400,
    of: 2_400,
    df: { pump: 2_400, rest: 1_800, quarter: 600 },
  });
  expect(await measured(two)).toMatchObject({ n: 2_000, of: 2_000, df: { pump: 2_000 } });
  expect(await measured(small)).toEqual({ n: 1_999, of: 0, df: {} });
  expect(await measureCollections.isDue!(deps)).toBe(false);
  expect(await sweepOnce(measureCollections, deps)).toMatchObject({ done: 0, failed: 0 });
});
