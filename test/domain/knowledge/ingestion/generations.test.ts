import { MockActivityEnvironment } from '@temporalio/testing';
import type { EntityManager } from '@mikro-orm/postgresql';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { createKnowledgeActivities } from '#activities/knowledge/create-knowledge-activities.ts';
import { createCollection } from '#domain/knowledge/collections/create-collection.ts';
import { deleteDocument } from '#domain/knowledge/collections/delete-document.ts';
import type { DocumentFailureCode } from '#domain/knowledge/collections/document-status.ts';
import { newId } from '#domain/foundation/kernel/ids.ts';
import { uploadDocument } from '#domain/knowledge/collections/upload-document.ts';
import type { Chunk } from '#domain/knowledge/ingestion/document-extractor.ts';
import { finishIngestion } from '#domain/knowledge/ingestion/finish-ingestion.ts';
import { storePassages } from '#domain/knowledge/ingestion/store-passages.ts';
import { matchKeywords } from '#domain/knowledge/search/match-keywords.ts';
import { searchKnowledge } from '#domain/knowledge/search/search-knowledge.ts';
import { sweeps } from '#domain/operations/maintenance/sweeps.ts';
import type { Round } from '#domain/operations/sweep-kinds/round.ts';
import { openWorld, type KnowledgeWorld, type SpaceFixture } from '#test/support/knowledge-world.ts';
import { Purge } from '../../../support/purge.ts';
import { roundOf, sweepOnce } from '../../../support/sweeps.ts';
import { connect, untilBlocked } from '../../../support/tables.ts';
import { extractor } from '#test/support/extractor.ts';

let world: KnowledgeWorld;
let purge: Purge;

beforeAll(async () => {
  world = await openWorld();
  purge = new Purge(world.database);
});
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
  const deps = { unitOfWork: world.unitOfWork, extractor };
  const { ingestDocument } = createKnowledgeActivities(deps);
  const workflowExecution = { workflowId: documentId, runId: newId() };
  return new MockActivityEnvironment({ workflowExecution }).run(ingestDocument, { tenantId, documentId });
};

const readAgain = ({ documentId }: Read) =>
  world.admin.query(`update documents set status = 'processing' where id = $1`, [documentId]);

const chunk = (text: string): Chunk => ({
  heading: text,
  text,
  start: 0,
  end: text.length,
  page: null,
  anchor: null,
});
const store = ({ space, documentId }: Read, texts: string[], readingId: string = newId()) =>
  world.unitOfWork.inTenant(space.tenantId, (em) =>
    storePassages(em, { documentId, readingId, chunks: texts.map(chunk) }),
  );
const finish = ({ space, documentId }: Read, failure: DocumentFailureCode | null = null) =>
  world.unitOfWork.inTenant(space.tenantId, (em) => finishIngestion(em, documentId, failure));

/** Reads the document once more, to the end. */
const reread = async (read: Read, texts: string[]) => {
  await readAgain(read);
  await store(read, texts);
  return finish(read);
};

const found = async ({ space }: Read, query = 'beacon') => {
  const { passages } = await searchKnowledge(world.access(space), {
    spaceId: space.spaceId,
    collectionIds: null,
    query,
    limit: 10,
    alpha: 0,
  });
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
  it('are searched in place of the old ones as soon as they are stored', async () => {
    const read = await aDocument();
    await readAgain(read);
    expect(await found(read)).toEqual(old);
    await store(read, ['The beacon is red.']);
    expect(await found(read)).toEqual(['The beacon is red.']);
    expect(await found(read, 'blue')).toEqual([]);
    expect(await finish(read)).toMatchObject({ status: 'ready', chunkCount: 1 });
    expect(await found(read)).toEqual(['The beacon is red.']);
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
      await reread(read, [`The beacon is ${colour}.`]);
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
    expect(await finish(read, 'extraction_failed')).toMatchObject({ status: 'failed' });
    expect(await found(read)).toEqual(old);
  });

  it('are stored once by a reading that is repeated', async () => {
    const read = await aDocument();
    await readAgain(read);
    await store(read, ['One.', 'Two.', 'Three.'], 'the same');
    const rows = await rowsOf(read);
    await store(read, ['One.', 'Two.', 'Three.'], 'the same');
    expect(await rowsOf(read)).toEqual(rows);
    expect(rows.filter(({ generation }) => generation === 2)).toHaveLength(3);
  });
});

describe('the purge of passages', () => {
  const sweep = () => sweepOnce(sweeps.purgePassages.sweep, { ...world.database, purge });
  const age = () =>
    world.admin.query(`update documents set stale_since = stale_since - interval '2 minutes'`);

  it('deletes those of earlier readings in batches, once searches that know them are over', async () => {
    const read = await aDocument();
    await reread(
      read,
      Array.from({ length: 2_500 }, (_, n) => `Beacon ${n}.`),
    );
    await reread(read, ['The beacon is red.']);
    expect(await sweep()).toMatchObject({ done: 0 });
    expect(await rowsOf(read)).toHaveLength(2 + 2_500 + 1);
    await age();
    expect(await sweep()).toMatchObject({ failed: 0, next: null });
    expect(await rowsOf(read)).toEqual([{ generation: 3, text: 'The beacon is red.' }]);
    expect(await found(read)).toEqual(['The beacon is red.']);
    expect(await sweep()).toMatchObject({ done: 0 });
  });

  it('leaves the rest of a long document for a later turn when the round has no time left, after the next document', async () => {
    const [long, short] = [await aDocument(), await aDocument()].sort((a, b) =>
      `${a.space.tenantId}${a.documentId}`.localeCompare(`${b.space.tenantId}${b.documentId}`),
    ) as [Read, Read];
    await reread(
      long,
      Array.from({ length: 3_500 }, (_, n) => `Beacon ${n}.`),
    );
    await reread(long, ['The beacon is red.']);
    await reread(short, ['The beacon is red.']);
    await age();
    const run = (place: Round['place']) =>
      sweeps.purgePassages.sweep.run(
        { ...world.database, purge } as never,
        roundOf({ place, mayGoOn: () => false }),
      );
    const first = await run(null);
    expect(await rowsOf(long)).toHaveLength(2 + 3_500 + 1 - 1_000);
    const second = await run(first.next);
    expect(second.done).toBe(1);
    expect(await rowsOf(short)).toHaveLength(1);
    await sweep();
    expect(await rowsOf(long)).toHaveLength(1);
  });

  it('deletes none of a document whose passages are replaced between its listing and its lock', async () => {
    const read = await aDocument();
    await reread(read, ['The beacon is red.']);
    await age();
    await readAgain(read);
    const holder = await connect(world.database.adminUrl);
    try {
      await holder.query('begin');
      await holder.query('update documents set stale_since = clock_timestamp() where id = $1', [
        read.documentId,
      ]);
      const sweeping = sweep();
      await untilBlocked(holder);
      await holder.query('commit');
      expect(await sweeping).toMatchObject({ done: 0, failed: 0 });
    } finally {
      await holder.end();
    }
    expect(await rowsOf(read)).toHaveLength(2 + 1);
    await age();
    expect(await sweep()).toMatchObject({ done: 1, failed: 0 });
    expect(await rowsOf(read)).toHaveLength(1);
  });

  it.each<{ end: string; failure: DocumentFailureCode | null }>([
    { end: 'that replaces passages', failure: null },
    { end: 'that fails', failure: 'extraction_failed' },
  ])('waits by the clock of the database after a reading $end', async ({ failure }) => {
    const read = await aDocument();
    await readAgain(read);
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() - 86_400_000 });
    try {
      if (failure === null) {
        await store(read, ['The beacon is red.']);
      }
      await finish(read, failure);
    } finally {
      vi.useRealTimers();
    }
    const { rows } = await world.admin.query<{ fresh: boolean }>(
      `select stale_since between now() - interval '20 seconds' and now() as fresh from documents where id = $1`,
      [read.documentId],
    );
    expect(rows).toEqual([{ fresh: true }]);
  });
});

describe('the number of passages of a collection', () => {
  it('follows readings and deletions', async () => {
    const read = await aDocument();
    const other = await addTo(read.space, read.collectionId);
    expect(await countOf(read.collectionId)).toEqual({ counted: 4, stored: 4 });
    await reread(read, ['One.', 'Two.', 'Three.']);
    expect(await countOf(read.collectionId)).toEqual({ counted: 5, stored: 5 });
    await world.act(read.space, (ctx) => deleteDocument(ctx, read));
    expect(await countOf(read.collectionId)).toEqual({ counted: 2, stored: 2 });
    await Promise.all([
      addTo(read.space, read.collectionId),
      world.act(read.space, (ctx) => deleteDocument(ctx, other)),
    ]);
    expect(await countOf(read.collectionId)).toEqual({ counted: 2, stored: 2 });
  });

  it('is known to a search, which counts no passages: they are read by one function only', async () => {
    const { space, collectionId } = await aDocument();
    const plan = await world.unitOfWork.inTenant(space.tenantId, async (em) => {
      let plans: object[] = [];
      const execute = async (sql: string, values: unknown[]) => {
        plans = await em.execute(`explain (format json) ${sql}`, values);
        return [];
      };
      const query = {
        tenantId: space.tenantId,
        filter: {},
        reading: null,
        collectionIds: [collectionId],
        question: 'beacon',
        limit: 10,
      };
      await matchKeywords({ execute } as unknown as EntityManager, query);
      return JSON.stringify(plans);
    });
    expect(plan.match(/"Relation Name":"\w+"/g)?.toSorted()).toEqual([
      '"Relation Name":"collections"',
      '"Relation Name":"language_changes"',
      '"Relation Name":"lexeme_stats"',
    ]);
    expect(plan.match(/"Function Name":"rank_passages_of_language"/g)).toHaveLength(1);
  });

  it('is what makes a word rare', async () => {
    const read = await aDocument();
    const { space } = read;
    const texts = ['Beacon blue.', 'Beacon rare.', 'Beacon.', 'Beacon.', 'Beacon.'];
    await reread(read, texts);
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
      const answer = await searchKnowledge(world.access(space), query);
      return answer.passages.find(({ text }) => text === 'Beacon blue.')!.coverage;
    };
    expect(await coverage(5)).not.toBeCloseTo(await coverage(1_000_000), 3);
  });
});
