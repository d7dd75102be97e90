import type { EntityManager } from '@mikro-orm/postgresql';
import { MockActivityEnvironment } from '@temporalio/testing';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { fetchPages } from '#activities/connectors/fetch-pages.ts';
import { finishSync } from '#activities/connectors/finish-sync.ts';
import { createKnowledgeActivities } from '#activities/knowledge/create-knowledge-activities.ts';
import { newId } from '#domain/foundation/kernel/ids.ts';
import { planRun } from '#domain/knowledge/connectors/plan-run.ts';
import { finishIngestion } from '#domain/knowledge/ingestion/finish-ingestion.ts';
import { storePassages } from '#domain/knowledge/ingestion/store-passages.ts';
import { searchKnowledge } from '#domain/knowledge/search/search-knowledge.ts';
import { EmbeddingSpace } from '#test/support/embedding-space.ts';
import { openWorld, type KnowledgeWorld, type SpaceFixture } from '#test/support/knowledge-world.ts';
import { noOtherWork } from '#test/support/no-other-work.ts';
import { ConnectorSpace, testProviders } from '#test/support/sources/connector-space.ts';
import { MemorySource, memoryProvider } from '#test/support/sources/memory-source.ts';
import { wordEmbedders } from '#test/support/word-embedders.ts';
import { extractor } from '#test/support/extractor.ts';

let world: KnowledgeWorld;
const embedders = wordEmbedders();

beforeAll(async () => {
  world = await openWorld();
});
beforeEach(() => {
  embedders.passages.length = 0;
});
afterAll(() => world.stop());

const before = { A: 'The beacon is blue.', B: 'The quay is long.', C: 'Fish is sold.' };
const after = { A: 'The beacon is blue.', D: 'Fish is sold.', C: 'Fish is sold.', B: 'The quay is short.' };
const markdown = (parts: Record<string, string>) =>
  Object.entries(parts)
    .map(([heading, text]) => `# ${heading}\n\n${text}\n`)
    .join('\n');

/** Stores the passages of another reading. */
async function readAgain(
  tenantId: string,
  documentId: string,
  parts: Record<string, string>,
  watch: (em: EntityManager) => void = () => {},
): Promise<void> {
  await world.admin.query(`update documents set status = 'processing' where id = $1`, [documentId]);
  const place = { start: 0, end: 0, page: null, anchor: null };
  const chunks = Object.entries(parts).map(([heading, text]) => ({ ...place, heading, text }));
  await world.unitOfWork.inTenant(tenantId, async (em) => {
    watch(em);
    await storePassages(em, { documentId, readingId: newId(), chunks });
  });
}

const embedded = () => embedders.passages.map(({ text }) => text);

/** Everything of the vectors of a space's documents, and the passages that lack one. */
async function vectorsOf({ tenantId, spaceId }: SpaceFixture) {
  const { rows } = await world.admin.query(
    `select position, c.text, e.text_hash, e.vector, v.bits, v.list
     from chunks c
     left join chunk_embeddings e using (tenant_id, document_id, generation, position)
     left join chunk_vectors v using (tenant_id, document_id, generation, position, embedding_id)
     where tenant_id = $1 and (document_id, generation) in (
       select d.id, d.generation from documents d join collections o on o.id = d.collection_id where o.space_id = $2)
     order by position`,
    [tenantId, spaceId],
  );
  return rows as { position: number; vector: Buffer | null }[];
}

async function replacedVectors({ tenantId }: SpaceFixture): Promise<number | null> {
  const { rowCount } = await world.admin.query(
    `select from chunk_vectors v join documents d on d.id = v.document_id
     where v.tenant_id = $1 and v.generation <> d.generation`,
    [tenantId],
  );
  return rowCount;
}

const search = async (space: SpaceFixture, query: string) => {
  const { spaceId } = space;
  const asked = { spaceId, collectionIds: null, query, limit: 5, alpha: 1 };
  const { passages } = await searchKnowledge(world.access(space, embedders), asked);
  return passages.map(({ text }) => text);
};

/** What is expected of a document between its new passages and their embedding. */
async function expectTakenOver(space: SpaceFixture): Promise<void> {
  expect(await replacedVectors(space)).toBe(0);
  expect((await vectorsOf(space)).map(({ vector }) => vector !== null)).toEqual([true, false, true, false]);
  const found = await search(space, 'The quay is long.');
  expect(found).toEqual(expect.arrayContaining(['The beacon is blue.', 'Fish is sold.']));
  expect(found).not.toContain('The quay is long.');
  const { rows } = await world.admin.query(
    'select embedded_count as embedded, embedding_pending as pending from documents where tenant_id = $1',
    [space.tenantId],
  );
  expect(rows).toEqual([{ embedded: 2, pending: true }]);
}

/** The vectors that a space has whose document never had other passages. */
async function undisturbed() {
  const space = await EmbeddingSpace.create(world, wordEmbedders());
  await space.add(markdown(after));
  return vectorsOf(space.fixture);
}

describe('a document of which some passages change', () => {
  it('is found by those that stay, and only the others are embedded, when it is read again', async () => {
    const space = await EmbeddingSpace.create(world, embedders);
    const documentId = await space.add(markdown(before));
    embedders.passages.length = 0;
    const { tenantId } = space.fixture;
    await readAgain(tenantId, documentId, after);
    await expectTakenOver(space.fixture);
    await world.unitOfWork.inTenant(tenantId, (em) => finishIngestion(em, documentId, null));
    await space.embedAll();
    expect(embedded()).toEqual(['D\nFish is sold.', 'B\nThe quay is short.']);
    expect(await vectorsOf(space.fixture)).toEqual(await undisturbed());
    expect(await space.falselyEmbedded()).toEqual([]);
  });

  it('is found by those that stay, and only the others are embedded, when its source has changed it', async () => {
    const source = new MemorySource();
    const sources = testProviders([memoryProvider(new Map([['m', source]]))]);
    const scope = { providerSlug: 'memory', scopeConfig: { name: 'm' } };
    const space = await ConnectorSpace.create(world, sources, scope);
    const { tenantId, connectorId } = space.ids;
    const deps = { unitOfWork: world.unitOfWork, sources, extractor, bulk: noOtherWork };
    const sync = async (parts: Record<string, string>) => {
      source.put('d', markdown(parts));
      const { id: runId } = await space.request();
      await world.unitOfWork.inTenant(tenantId, (em) => planRun(em, connectorId));
      await fetchPages(deps, { tenantId, connectorId, runId }, AbortSignal.timeout(60_000));
      await finishSync(deps, { tenantId, connectorId, runId, end: 'done' });
    };
    const { embedSpace } = createKnowledgeActivities({ unitOfWork: world.unitOfWork, extractor, embedders });
    const embed = () => new MockActivityEnvironment().run(embedSpace, space.fixture);
    await sync(before);
    await embed();
    embedders.passages.length = 0;
    await sync(after);
    await expectTakenOver(space.fixture);
    await embed();
    expect(embedded()).toEqual(['D\nFish is sold.', 'B\nThe quay is short.']);
    expect(await vectorsOf(space.fixture)).toEqual(await undisturbed());
  });
});

it('compares no passage with each of the others, though the tables have no statistics', async () => {
  const space = await EmbeddingSpace.create(world, embedders);
  const documentId = await space.add(markdown(before));
  const plans: unknown[] = [];
  const settings: unknown[] = [];
  await readAgain(space.fixture.tenantId, documentId, after, (em) => {
    const execute = em.execute.bind(em);
    em.execute = (async (sql: string, ...given: unknown[]) => {
      if (sql.includes('with known')) {
        plans.push(await execute(`explain (format json) ${sql}`, ...(given as [])));
      }
      if (sql.includes('delete from chunk_vectors')) {
        settings.push(await execute('show enable_nestloop'));
      }
      return execute(sql, ...(given as []));
    }) as typeof execute;
  });
  expect(plans).toHaveLength(1);
  expect(JSON.stringify(plans)).not.toContain('Nested Loop');
  expect(settings).toEqual([[{ enable_nestloop: 'on' }]]);
});
