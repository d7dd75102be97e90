import { MockActivityEnvironment } from '@temporalio/testing';
import type { EntityManager } from '@mikro-orm/postgresql';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createKnowledgeActivities } from '#activities/knowledge/create-knowledge-activities.ts';
import { createTextExtractor } from '#adapters/knowledge/text-extractor.ts';
import { createCollection } from '#domain/knowledge/collections/create-collection.ts';
import { deleteDocument } from '#domain/knowledge/collections/delete-document.ts';
import { uploadDocument } from '#domain/knowledge/collections/upload-document.ts';
import type { Chunk } from '#domain/knowledge/ingestion/document-extractor.ts';
import { finishIngestion } from '#domain/knowledge/ingestion/finish-ingestion.ts';
import { storePassages } from '#domain/knowledge/ingestion/store-passages.ts';
import { matchKeywords } from '#domain/knowledge/search/match-keywords.ts';
import { searchKnowledge } from '#domain/knowledge/search/search-knowledge.ts';
import { sweeps } from '#domain/operations/maintenance/sweeps.ts';
import { openWorld, type KnowledgeWorld, type SpaceFixture } from '#test/support/knowledge-world.ts';
import { Purge } from '../../../support/purge.ts';
import { sweepOnce } from '../../../support/sweeps.ts';

let world: KnowledgeWorld;
let purge: Purge;

beforeAll(async () => {
  world = await openWorld();
  purge = new Purge(world.database);
}, 60_000);
afterAll(async () => {
  await purge?.close();
  await world?.stop();
});

interface Read {
  space: SpaceFixture;
  collectionId: string;
  documentId: string;
}

/** A document that has been read: it says that the beacon is blue, twice. */
async function aDocument(): Promise<Read> {
  const space = await world.addSpace();
  const { collection } = await world.act(space, (ctx) => createCollection(ctx, { name: 'C' }));
  return addTo(space, collection.id);
}

async function addTo(space: SpaceFixture, collectionId: string): Promise<Read> {
  const content = '# A\n\nThe beacon is blue.\n\n# B\n\nBlue is the beacon.\n';
  const { document } = await world.act(space, (ctx) =>
    uploadDocument(ctx, { collectionId, filename: 'a.md', mediaType: 'text/markdown', content }),
  );
  const read = { space, collectionId, documentId: document.id };
  expect(await ingest(read)).toMatchObject({ status: 'ready', chunkCount: 2 });
  return read;
}

const ingest = ({ space: { tenantId }, documentId }: Read) => {
  const deps = { unitOfWork: world.unitOfWork, extractor: createTextExtractor() };
  const { ingestDocument } = createKnowledgeActivities(deps);
  return new MockActivityEnvironment().run(ingestDocument, { tenantId, documentId });
};

const readAgain = ({ documentId }: Read) =>
  world.admin.query(`update documents set status = 'processing' where id = $1`, [documentId]);

const chunk = (text: string): Chunk => ({
  heading: null,
  page: null,
  anchor: null,
  text,
  start: 0,
  end: text.length,
});
const store = ({ space, documentId }: Read, texts: string[]) =>
  world.unitOfWork.inTenant(space.tenantId, (em) => storePassages(em, documentId, texts.map(chunk)));
const finish = ({ space, documentId }: Read, outcome: Parameters<typeof finishIngestion>[2]) =>
  world.unitOfWork.inTenant(space.tenantId, (em) => finishIngestion(em, documentId, outcome));

const found = async ({ space }: Read, query = 'beacon') => {
  const { passages } = await world.unitOfWork.inTenant(space.tenantId, (em) =>
    searchKnowledge(em, { spaceId: space.spaceId, collectionIds: null, query, limit: 10, alpha: 0 }),
  );
  return passages.map(({ text }) => text).sort();
};

const rowsOf = async ({ documentId }: Read) =>
  (
    await world.admin.query<{ generation: number; text: string }>(
      'select generation, text from chunks where document_id = $1 order by generation, position',
      [documentId],
    )
  ).rows;

const countOf = async (collectionId: string) =>
  (
    await world.admin.query<{ counted: number; stored: number }>(
      `select c.chunk_count::int as counted, (select sum(d.chunk_count)::int from documents d where d.collection_id = c.id) as stored
       from collections c where c.id = $1`,
      [collectionId],
    )
  ).rows[0];

const old = ['Blue is the beacon.', 'The beacon is blue.'];

describe('passages of a document that is read again', () => {
  it('are searched from the end of the reading on, in place of the old ones, and those until then', async () => {
    const read = await aDocument();
    await readAgain(read);
    const stored = await store(read, ['The beacon is red.']);
    expect(stored).toEqual({ documentId: read.documentId, generation: 2 });
    expect(await found(read)).toEqual(old);
    expect(await finish(read, stored!)).toMatchObject({ status: 'ready', chunkCount: 1 });
    expect(await found(read)).toEqual(['The beacon is red.']);
    expect(await found(read, 'blue')).toEqual([]);
  });

  it('are found old or new by searches that run at that moment, never both and never none', async () => {
    const read = await aDocument();
    const seen = new Set<string>();
    const over = new AbortController();
    const searching = (async () => {
      while (!over.signal.aborted) {
        seen.add(JSON.stringify(await found(read)));
      }
    })();
    for (const colour of ['red', 'green', 'white']) {
      await readAgain(read);
      await finish(read, (await store(read, [`The beacon is ${colour}.`]))!);
      await new Promise((resolve) => setTimeout(resolve, 30));
    }
    over.abort();
    await searching;
    const versions = [old, ...['red', 'green', 'white'].map((colour) => [`The beacon is ${colour}.`])];
    expect(versions.map((texts) => JSON.stringify(texts))).toEqual(expect.arrayContaining([...seen]));
    expect(seen.size).toBeGreaterThan(1);
  });

  it('stay as they were when the new reading fails', async () => {
    const read = await aDocument();
    await readAgain(read);
    await store(read, ['The beacon is red.']);
    expect(await finish(read, { failure: 'extraction_failed' })).toMatchObject({ status: 'failed' });
    expect(await found(read)).toEqual(old);
  });

  it('leave nothing of a reading that broke behind its stored passages', async () => {
    const read = await aDocument();
    await readAgain(read);
    await store(read, ['One.', 'Two.', 'Three.']);
    expect(await ingest(read)).toMatchObject({ status: 'ready', chunkCount: 2 });
    const rows = await rowsOf(read);
    expect(rows.filter(({ generation }) => generation === 2)).toHaveLength(2);
    expect(await ingest(read)).toMatchObject({ status: 'ready', chunkCount: 2 });
    expect(await rowsOf(read)).toEqual(rows);
  });
});

describe('the purge of passages', () => {
  const sweep = () => sweepOnce(sweeps.purgePassages.sweep, { ...world.database, purge });
  const age = () =>
    world.admin.query(`update documents set stale_since = stale_since - interval '2 minutes'`);

  it('deletes those of earlier and of failed readings in batches, once searches that know them are over', async () => {
    const read = await aDocument();
    await readAgain(read);
    await finish(
      read,
      (await store(
        read,
        Array.from({ length: 2_500 }, (_, n) => `Beacon ${n}.`),
      ))!,
    );
    await readAgain(read);
    await finish(read, (await store(read, ['The beacon is red.']))!);
    await readAgain(read);
    await store(read, ['The beacon is green.']);
    await finish(read, { failure: 'extraction_failed' });
    expect(await sweep()).toMatchObject({ done: 0 });
    expect(await rowsOf(read)).toHaveLength(2 + 2_500 + 1 + 1);
    await age();
    expect(await sweep()).toMatchObject({ failed: 0, next: null });
    expect(await rowsOf(read)).toEqual([{ generation: 3, text: 'The beacon is red.' }]);
    expect(await found(read)).toEqual(['The beacon is red.']);
    expect(await sweep()).toMatchObject({ done: 0 });
  });

  it('leaves those of a reading that is under way', async () => {
    const read = await aDocument();
    await readAgain(read);
    await finish(read, { failure: 'extraction_failed' });
    await readAgain(read);
    const stored = await store(read, ['The beacon is red.']);
    await age();
    await sweep();
    expect(await rowsOf(read)).toHaveLength(3);
    await finish(read, stored!);
    expect(await found(read)).toEqual(['The beacon is red.']);
  });
});

describe('the number of passages of a collection', () => {
  it('follows readings and deletions', async () => {
    const read = await aDocument();
    const other = await addTo(read.space, read.collectionId);
    expect(await countOf(read.collectionId)).toEqual({ counted: 4, stored: 4 });
    await readAgain(read);
    await finish(read, (await store(read, ['One.', 'Two.', 'Three.']))!);
    expect(await countOf(read.collectionId)).toEqual({ counted: 5, stored: 5 });
    await world.act(read.space, (ctx) => deleteDocument(ctx, read));
    expect(await countOf(read.collectionId)).toEqual({ counted: 2, stored: 2 });
    await Promise.all([
      addTo(read.space, read.collectionId),
      world.act(read.space, (ctx) => deleteDocument(ctx, other)),
    ]);
    expect(await countOf(read.collectionId)).toEqual({ counted: 2, stored: 2 });
  });

  it('is known to a search, which goes through the passages once only, to match them', async () => {
    const { space, collectionId } = await aDocument();
    const plan = await world.unitOfWork.inTenant(space.tenantId, async (em) => {
      let plans: object[] = [];
      const execute = async (sql: string, values: unknown[]) => {
        plans = await em.execute(`explain (format json) ${sql}`, values);
        return [];
      };
      const query = {
        collectionIds: [collectionId],
        config: 'english',
        question: 'beacon',
        passages: 2,
        limit: 10,
      };
      await matchKeywords({ execute } as unknown as EntityManager, query);
      return JSON.stringify(plans);
    });
    expect(plan.match(/"Relation Name":"\w+"/g)?.toSorted()).toEqual([
      '"Relation Name":"chunks"',
      '"Relation Name":"documents"',
    ]);
  });

  it('is what makes a word rare', async () => {
    const read = await aDocument();
    const { space } = read;
    await readAgain(read);
    const texts = ['Beacon blue.', 'Beacon rare.', 'Beacon.', 'Beacon.', 'Beacon.'];
    await finish(read, (await store(read, texts))!);
    const coverage = async (passages: number) => {
      await world.admin.query('update collections set chunk_count = $2 where id = $1', [
        read.collectionId,
        passages,
      ]);
      const query = {
        spaceId: space.spaceId,
        collectionIds: null,
        query: 'beacon rare',
        limit: 10,
        alpha: 0,
      };
      const answer = await world.unitOfWork.inTenant(space.tenantId, (em) => searchKnowledge(em, query));
      return answer.passages.find(({ text }) => text === 'Beacon blue.')!.coverage;
    };
    expect(await coverage(5)).not.toBeCloseTo(await coverage(1_000_000), 3);
  });
});
