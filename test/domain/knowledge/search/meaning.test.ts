import { MockActivityEnvironment } from '@temporalio/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createKnowledgeActivities } from '#activities/knowledge/create-knowledge-activities.ts';
import { createCollection } from '#domain/knowledge/collections/create-collection.ts';
import { deleteDocument } from '#domain/knowledge/collections/delete-document.ts';
import { uploadDocument } from '#domain/knowledge/collections/upload-document.ts';
import { UnitOfWork } from '#domain/foundation/persistence/unit-of-work.ts';
import { EmbeddingFailure } from '#domain/knowledge/embeddings/embedder.ts';
import type { KnowledgeQuery } from '#domain/knowledge/search/knowledge-query.ts';
import { searchKnowledge } from '#domain/knowledge/search/search-knowledge.ts';
import { createOrm } from '#domain/operations/schema/orm.ts';
import { openWorld, type KnowledgeWorld, type SpaceFixture } from '#test/support/knowledge-world.ts';
import { wordEmbedders } from '#test/support/word-embedders.ts';
import { extractor } from '#test/support/extractor.ts';

let world: KnowledgeWorld;
const embedders = wordEmbedders();

beforeAll(async () => {
  world = await openWorld();
});
afterAll(async () => world.stop());

const collect = async (space: SpaceFixture) =>
  (await world.act(space, (ctx) => createCollection(ctx, { name: 'C' }))).collection.id;

async function add(
  space: SpaceFixture,
  collectionId: string,
  content: string,
  metadata: Record<string, string> = {},
): Promise<string> {
  const { document } = await world.act(space, (ctx) =>
    uploadDocument(ctx, { collectionId, filename: 'a.md', mediaType: 'text/markdown', content, metadata }),
  );
  const input = { tenantId: space.tenantId, documentId: document.id };
  const deps = { unitOfWork: world.unitOfWork, extractor, embedders };
  const { extractDocument, embedDocument, finishDocument } = createKnowledgeActivities(deps);
  await new MockActivityEnvironment().run(extractDocument, input);
  await new MockActivityEnvironment().run(embedDocument, input);
  await new MockActivityEnvironment().run(finishDocument, input);
  return document.id;
}

const search = (space: SpaceFixture, query: string, rest: Partial<KnowledgeQuery> = {}) =>
  searchKnowledge(world.access(space, embedders), {
    spaceId: space.spaceId,
    collectionIds: null,
    query,
    limit: 5,
    alpha: 1,
    ...rest,
  });
const texts = async (...given: Parameters<typeof search>) =>
  (await search(...given)).passages.map(({ text }) => text);

/** Words that no full-text search keeps, so that only vectors can find them. */
const stop = { near: 'the of and to in', far: 'you were not there when' };

describe('a search by meaning', () => {
  it('finds what shares no searchable word with the question, and says that it is hybrid', async () => {
    const space = await world.addSpace();
    const collectionId = await collect(space);
    await add(space, collectionId, stop.far);
    await add(space, collectionId, stop.near);
    const answer = await search(space, stop.near, { alpha: 0.75 });
    expect(answer).toMatchObject({ mode: 'hybrid', reason: null, generation: expect.any(String) });
    expect(answer.passages[0]?.text).toBe(stop.near);
  });

  it('runs both searches at once, and none of its transactions within another', async () => {
    const space = await world.addSpace();
    await add(space, await collect(space), stop.near);
    const access = world.access(space, embedders);
    let open = 0;
    const opened: number[] = [];
    const inTransaction: typeof access.inTransaction = async (work) => {
      opened.push((open += 1));
      return access.inTransaction(work).finally(() => (open -= 1));
    };
    const query = { spaceId: space.spaceId, collectionIds: null, query: stop.near, limit: 5, alpha: 0.75 };
    expect((await searchKnowledge({ ...access, inTransaction }, query)).passages).toHaveLength(1);
    expect(opened).toEqual([1, 1, 2, 1]);
    // A single connection for all of them.
    const orm = createOrm({ url: world.url, statementTimeoutMs: 5_000, poolSize: 1 });
    const alone = new UnitOfWork(orm);
    const oneByOne: typeof inTransaction = (work) => alone.inTenant(space.tenantId, work);
    const answer = await searchKnowledge({ ...access, inTransaction: oneByOne }, query);
    await orm.close(true);
    expect(answer.passages).toHaveLength(1);
  });

  it('is not answered with a failure while its other transaction goes on', async () => {
    const space = await world.addSpace();
    await add(space, await collect(space), stop.near);
    const access = world.access(space, embedders);
    let [calls, open] = [0, 0];
    const inTransaction: typeof access.inTransaction = async (work) => {
      if ((calls += 1) === 2) throw new Error('no connection');
      open += 1;
      return access
        .inTransaction(async (em) => {
          await em.execute('select pg_sleep(0.05)');
          return work(em);
        })
        .finally(() => (open -= 1));
    };
    const query = { spaceId: space.spaceId, collectionIds: null, query: stop.near, limit: 5, alpha: 0.75 };
    await expect(searchKnowledge({ ...access, inTransaction }, query)).rejects.toThrow('no connection');
    expect({ calls, open }).toEqual({ calls: 3, open: 0 });
  });

  it('uses keywords only when alpha is 0, and asks no model then', async () => {
    const space = await world.addSpace();
    await add(space, await collect(space), 'The beacon is blue.');
    const calls = embedders.batches.length;
    expect(await search(space, 'beacon', { alpha: 0 })).toMatchObject({
      mode: 'keyword',
      reason: 'alpha_is_zero',
      passages: [{ text: 'The beacon is blue.' }],
    });
    expect(embedders.batches).toHaveLength(calls);
  });

  it('goes on by keyword while the model does not answer, and says why', async () => {
    const space = await world.addSpace();
    await add(space, await collect(space), 'The beacon is blue.');
    embedders.before = () => {
      throw new EmbeddingFailure('unavailable');
    };
    const answer = await search(space, 'beacon');
    embedders.before = () => {};
    expect(answer).toMatchObject({
      mode: 'keyword',
      reason: 'embedding_unavailable',
      passages: [{ text: 'The beacon is blue.' }],
    });
    expect(await search(space, 'beacon')).toMatchObject({ mode: 'hybrid' });
  });

  it('ranks only documents that the filter lets through, before it limits them', async () => {
    const space = await world.addSpace();
    const collectionId = await collect(space);
    for (let n = 0; n < 6; n += 1) {
      await add(space, collectionId, `the beacon is blue number ${n}`, { site: 'north' });
    }
    await add(space, collectionId, 'quite different words', { site: 'south' });
    const filter = { metadata: { site: 'south' } };
    for (const alpha of [0.75, 1]) {
      expect(await texts(space, 'the beacon is blue', { filter, alpha, limit: 3 })).toEqual([
        'quite different words',
      ]);
    }
    const future = { createdFrom: new Date(Date.now() + 60_000) };
    expect(await texts(space, 'the beacon is blue', { filter: future })).toEqual([]);
    const past = { createdBefore: new Date(Date.now() + 60_000) };
    expect(await texts(space, 'the beacon is blue', { filter: past })).toHaveLength(5);
  });

  it('finds a document that the filter lets through behind any number of better ones', async () => {
    const space = await world.addSpace();
    const collectionId = await collect(space);
    // More than a search computes the cosines of.
    const better = Array.from({ length: 1_300 }, (_, n) => `# ${n}\n\nthe beacon is blue\n`);
    await add(space, collectionId, better.join('\n'), { site: 'north' });
    await add(space, collectionId, 'one beacon among quite different words', { site: 'south' });
    const filter = { metadata: { site: 'south' } };
    for (const alpha of [0, 1]) {
      expect(await texts(space, 'the beacon is blue', { filter, alpha })).toEqual([
        'one beacon among quite different words',
      ]);
    }
  });

  it('fills the answer behind copies of the best passage', async () => {
    const space = await world.addSpace();
    const copies = Array.from({ length: 30 }, (_, n) => `# Copy ${n}\n\nThe beacon is blue.\n`);
    const others = Array.from({ length: 12 }, (_, n) => `# Other ${n}\n\nBeacon number ${n} is old.\n`);
    await add(space, await collect(space), [...copies, ...others].join('\n'));
    for (const alpha of [0, 0.75]) {
      const found = await texts(space, 'The beacon is blue.', { alpha, limit: 8 });
      expect(found[0]).toBe('The beacon is blue.');
      expect(found).toHaveLength(8);
      expect(new Set(found).size).toBe(8);
    }
  });

  it('reads passages with one statement where those read at first fill the answer', async () => {
    const space = await world.addSpace();
    const parts = Array.from({ length: 12 }, (_, n) => `# Part ${n}\n\nBeacon number ${n} is old.\n`);
    await add(space, await collect(space), parts.join('\n'));
    const access = world.access(space);
    let reads = 0;
    const inTransaction: typeof access.inTransaction = (work) =>
      access.inTransaction((em) => {
        const execute = em.execute.bind(em);
        em.execute = ((sql: string, ...given: unknown[]) => {
          reads += sql.includes('jsonb_to_recordset') ? 1 : 0;
          return execute(sql, ...(given as []));
        }) as typeof execute;
        return work(em);
      });
    const query = { spaceId: space.spaceId, collectionIds: null, query: 'beacon', limit: 5, alpha: 0 };
    expect((await searchKnowledge({ ...access, inTransaction }, query)).passages).toHaveLength(5);
    expect(reads).toBe(1);
  });

  it('finds nothing of a deleted document from then on', async () => {
    const space = await world.addSpace();
    const collectionId = await collect(space);
    const documentId = await add(space, collectionId, 'the beacon is blue');
    expect(await texts(space, 'the beacon is blue')).toHaveLength(1);
    await world.act(space, (ctx) => deleteDocument(ctx, { collectionId, documentId }));
    expect(await texts(space, 'the beacon is blue')).toEqual([]);
    const { rows } = await world.admin.query('select from chunk_vectors where document_id = $1', [
      documentId,
    ]);
    expect(rows).toEqual([]);
  });

  it('finds nothing of another space or tenant by their own words', async () => {
    const space = await world.addSpace();
    await add(space, await collect(space), 'the secret beacon is blue');
    for (const other of [await world.addSpace(space.tenantId), await world.addSpace()]) {
      await add(other, await collect(other), 'harmless words');
      expect(await texts(other, 'the secret beacon is blue', { alpha: 0.75 })).not.toContain(
        'the secret beacon is blue',
      );
    }
  });
});
