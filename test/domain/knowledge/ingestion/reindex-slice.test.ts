import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Collection } from '#domain/knowledge/collections/collection.entity.ts';
import { deleteCollection } from '#domain/knowledge/collections/delete-collection.ts';
import { deleteDocument } from '#domain/knowledge/collections/delete-document.ts';
import { reindexSlice } from '#domain/knowledge/ingestion/reindex-slice.ts';
import { byKeyword } from '#domain/knowledge/search/search-sides.ts';
import { germanCollection, type GermanCollection } from '#test/support/changed-language.ts';
import { openWorld, type KnowledgeWorld } from '#test/support/knowledge-world.ts';
import { connect } from '#test/support/tables.ts';

let world: KnowledgeWorld;

beforeAll(async () => {
  world = await openWorld();
});
afterAll(async () => world.stop());

async function filled(sizes: readonly number[]): Promise<GermanCollection & { documents: string[] }> {
  const collection = await germanCollection(world);
  const documents: string[] = [];
  for (const passages of sizes) {
    documents.push(await collection.add(passages));
  }
  return { ...collection, documents };
}

const sizes = (documents: number, passages: number) => Array.from({ length: documents }, () => passages);

async function finish(collection: GermanCollection): Promise<void> {
  while (await collection.slice());
}

/** What a change must leave as it is. */
async function content({ collectionId }: GermanCollection): Promise<string> {
  const { rows } = await world.admin.query<{ sum: string }>(
    `select md5(string_agg(concat_ws('|', document_id, generation, position, text, start_offset), ',' order by document_id, generation, position)) as sum
     from chunks where collection_id = $1`,
    [collectionId],
  );
  return rows[0]!.sum;
}

describe('a change of the language', () => {
  it('reaches every passage of more than 500 documents, each of which is found all along', async () => {
    const collection = await filled([1, 450]);
    await collection.copy(collection.documents[0]!, 519);
    const before = await content(collection);
    expect([await collection.found('Häuser'), await collection.found('Haus')]).toEqual([970, 0]);
    await collection.change('german');
    expect((await collection.statistics()).languageChange).toMatchObject({
      former: ['english'],
      chunksDone: 0,
      chunksTotal: 970,
    });
    expect(await collection.found('Häuser')).toBe(970);
    const steps: number[] = [];
    while (await collection.slice()) {
      expect(await collection.found('Häuser')).toBe(970);
      // The same word in both languages finds a passage once.
      expect(await collection.found('0')).toBe(521);
      const german = await collection.found('Haus');
      expect(german - (steps.at(-1) ?? 0)).toBeLessThanOrEqual(200);
      steps.push(german);
      const { languageChange } = await collection.statistics();
      expect(languageChange?.chunksDone ?? 970).toBe(german);
    }
    expect(steps.length).toBeGreaterThan(5);
    expect(steps).toEqual(steps.toSorted((a, b) => a - b));
    expect(steps.at(-1)).toBe(970);
    expect(await collection.languages()).toEqual({ german: 970 });
    expect((await collection.statistics()).languageChange).toBeNull();
    expect(await content(collection)).toBe(before);
  }, 30_000);

  it('hides no passage from a search that runs at the same time', async () => {
    const collection = await filled([3_000]);
    await collection.change('german');
    const search = { isOver: false };
    const counts: number[] = [];
    const searching = Promise.all(
      [1, 2].map(async () => {
        while (!search.isOver) {
          counts.push(await collection.found('Häuser'));
        }
      }),
    );
    await finish(collection);
    search.isOver = true;
    await searching;
    expect(counts.length).toBeGreaterThan(5);
    expect([...new Set(counts)]).toEqual([3_000]);
  });

  it('hides no passage from a search that has read its collections before', async () => {
    const collection = await filled([180]);
    const {
      space: { spaceId, principalId },
      collectionId,
    } = collection;
    const inTenant = world.access(collection.space).inTransaction;
    const collections = await inTenant((em) => em.find(Collection, { id: collectionId }));
    const query = { spaceId, collectionIds: null, query: 'Häuser', limit: 1, alpha: 0 };
    const find = async () =>
      (await inTenant((em) => byKeyword(em, { collections, query, principalId }))).length;
    await collection.change('german');
    expect(await find()).toBe(180);
    await collection.slice();
    expect(await find()).toBe(180);
    await finish(collection);
    expect(await find()).toBe(180);
    expect(collections[0]).toMatchObject({ id: collectionId, textSearchConfig: 'english' });
    expect(await collection.languages()).toEqual({ german: 180 });
  }, 30_000);

  it('is superseded by another one: passages are found in each language that they have', async () => {
    const collection = await filled(sizes(6, 100));
    await collection.change('german');
    await collection.slice();
    await collection.change('french');
    expect((await collection.statistics()).languageChange).toMatchObject({ chunksDone: 0, chunksTotal: 600 });
    await collection.slice();
    expect(await collection.languages()).toEqual({ english: 400, french: 200 });
    await collection.change('german');
    await collection.slice();
    await collection.change('danish');
    const { languageChange } = await collection.statistics();
    expect(languageChange?.former.toSorted()).toEqual(['english', 'french', 'german']);
    await expect(collection.change('spanish'), 'a fourth former language').rejects.toMatchObject({
      code: 'invalid_state',
    });
    await collection.change('french');
    await collection.change('danish');
    while (await collection.slice()) {
      expect(await collection.found('Häuser')).toBe(600);
    }
    expect(await collection.languages()).toEqual({ danish: 600 });
  }, 30_000);

  it('is cancelled by a change to the former language', async () => {
    const collection = await filled(sizes(6, 100));
    await collection.change('german');
    await collection.slice();
    expect(await collection.found('Haus')).toBe(200);
    await collection.change('english');
    expect((await collection.statistics()).languageChange?.former).toEqual(['german']);
    expect(await collection.found('Haus')).toBe(200);
    await finish(collection);
    expect(await collection.languages()).toEqual({ english: 600 });
    expect([await collection.found('Haus'), await collection.found('Häuser')]).toEqual([0, 600]);
  }, 30_000);

  it('leaves what is stored meanwhile in the new language, and copes with readings and deletions', async () => {
    const collection = await filled(sizes(8, 90));
    const { documents, space, collectionId } = collection;
    await collection.change('german');
    await collection.add(5);
    expect(await collection.languages()).toEqual({ english: 720, german: 5 });
    const deleted = documents.slice(0, 2);
    const others = Promise.all([
      ...deleted.map((documentId) =>
        world.act(space, (ctx) => deleteDocument(ctx, { collectionId, documentId })),
      ),
      collection.readAgain(documents[3]!, 150),
      collection.readAgain(documents[6]!, 10),
      collection.add(40),
    ]);
    await finish(collection);
    await others;
    await collection.readAgain(documents[7]!, 70);
    expect(await collection.languages()).toEqual({ german: 5 + 40 + 3 * 90 + 150 + 10 + 70 });
    expect((await collection.statistics()).languageChange).toBeNull();
  }, 30_000);

  it('goes on behind the place of a document that is gone', async () => {
    const collection = await filled(sizes(5, 90));
    const { documents, space, collectionId } = collection;
    await collection.change('german');
    await collection.slice();
    // The slice ended within the third newest.
    const documentId = documents[2]!;
    await world.act(space, (ctx) => deleteDocument(ctx, { collectionId, documentId }));
    await finish(collection);
    expect(await collection.languages()).toEqual({ german: 360 });
  }, 30_000);

  it('has no effect of a slice that is interrupted, and one process at a time makes the next', async () => {
    const collection = await filled([300]);
    const {
      space: { tenantId },
      collectionId,
    } = collection;
    await collection.change('german');
    const interrupted = world.unitOfWork.inTenant(tenantId, async (em) => {
      expect(await reindexSlice(em, { tenantId, collectionId })).toBe(true);
      expect(await collection.slice()).toBe(false);
      throw new Error('killed');
    });
    await expect(interrupted).rejects.toThrow('killed');
    expect(await collection.languages()).toEqual({ english: 300 });
    expect((await collection.statistics()).languageChange?.chunksDone).toBe(0);
    await finish(collection);
    expect(await collection.languages()).toEqual({ german: 300 });
  }, 30_000);

  it('refreshes the statistics of words as passages get them', async () => {
    const collection = await filled([5_000]);
    const words = async () => {
      const { rows } = await world.admin.query<{ lexeme: string; df: number }>(
        `select lexeme, df from lexeme_stats where collection_id = $1 and lexeme in ('haus', 'häuser')`,
        [collection.collectionId],
      );
      return Object.fromEntries(rows.map(({ lexeme, df }) => [lexeme, df]));
    };
    expect(await words()).toEqual({ häuser: 5_000 });
    await collection.change('german');
    // Another transaction that changes the collection holds up the statistics alone.
    const writer = await connect(world.database.adminUrl);
    await writer.query('begin');
    await writer.query('update collections set updated_at = now() where id = $1', [collection.collectionId]);
    while (((await collection.statistics()).languageChange?.chunksDone ?? 0) < 2_200) {
      await collection.slice();
    }
    expect(await words()).toEqual({ häuser: 5_000 });
    await writer.query('rollback');
    await writer.end();
    await collection.slice();
    const halfway = await words();
    expect(halfway['haus']! / 2_200).toBeGreaterThan(0.9);
    expect(halfway['häuser']! / 2_800).toBeGreaterThan(0.9);
    await finish(collection);
    expect(await words()).toEqual({ haus: 5_000 });
  });

  it('looks passages up by their key where the statistics of PostgreSQL know those of other tenants alone', async () => {
    await filled([6_000]);
    await world.admin.query('analyze chunks, documents');
    const collection = await filled([6_000]);
    await collection.change('german');
    // Each statement has five seconds.
    await finish(collection);
    expect(await collection.languages()).toEqual({ german: 6_000 });
  });

  it('needs no work for a collection without passages, and ends with a deleted one', async () => {
    const empty = await filled([]);
    await empty.change('german');
    expect((await empty.statistics()).languageChange).toBeNull();
    const collection = await filled([300]);
    const { space, collectionId } = collection;
    await collection.change('german');
    await world.act(space, (ctx) => deleteCollection(ctx, { collectionId }));
    expect(await collection.slice()).toBe(false);
    expect(await collection.languages()).toEqual({ english: 300 });
  }, 30_000);

  it("changes and shows nothing by another tenant's hands", async () => {
    const collection = await filled([300]);
    const { collectionId } = collection;
    await collection.change('german');
    const { tenantId } = await world.addSpace();
    for (const as of [tenantId, collection.space.tenantId]) {
      const slice = world.unitOfWork.inTenant(tenantId, (em) =>
        reindexSlice(em, { tenantId: as, collectionId }),
      );
      expect(await slice).toBe(false);
    }
    const seen = await world.unitOfWork.inTenant(tenantId, (em) =>
      em.execute('select * from language_changes'),
    );
    expect(seen).toEqual([]);
    expect(await collection.languages()).toEqual({ english: 300 });
  }, 30_000);
});
