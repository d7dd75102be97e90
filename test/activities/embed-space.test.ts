import { setTimeout as sleep } from 'node:timers/promises';
import type { ApplicationFailure } from '@temporalio/common';
import { MockActivityEnvironment } from '@temporalio/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createKnowledgeActivities } from '#activities/knowledge/create-knowledge-activities.ts';
import { newId } from '#domain/foundation/kernel/ids.ts';
import { createCollection } from '#domain/knowledge/collections/create-collection.ts';
import { uploadDocument } from '#domain/knowledge/collections/upload-document.ts';
import { activateGeneration } from '#domain/knowledge/embeddings/activate-generation.ts';
import { calibrationTexts } from '#domain/knowledge/embeddings/calibration-texts.ts';
import { EmbeddingFailure, type Embedder, type Embedders } from '#domain/knowledge/embeddings/embedder.ts';
import type { FindLists } from '#domain/knowledge/embeddings/find-lists.ts';
import { searchKnowledge } from '#domain/knowledge/search/search-knowledge.ts';
import { ingest } from '#test/support/ingest.ts';
import { findListsHere } from '#test/support/find-lists-here.ts';
import { openWorld, type KnowledgeWorld, type SpaceFixture } from '#test/support/knowledge-world.ts';
import { wordEmbedders, wordVector } from '#test/support/word-embedders.ts';
import { extractor } from '#test/support/extractor.ts';

let world: KnowledgeWorld;
beforeAll(async () => {
  world = await openWorld();
});
afterAll(async () => world.stop());

/** Its vectors cannot be compared with those of the builtin model: they have other dimensions. */
const otherDims = 32;

/** The builtin model, and another one; `fail` is called before each of its passages' calls. */
function twoModels() {
  const builtin = wordEmbedders();
  const other = { fail: (_call: number): void => {}, calls: 0 };
  const short = (text: string) => wordVector(text).slice(0, otherDims);
  const embedder: Embedder = {
    id: 'other',
    dims: otherDims,
    maxTokens: 512,
    passagesPerCall: 64,
    embedQuery: async (text) => ({ vector: short(text), tokens: 1 }),
    embedPassages: async (texts) => {
      other.calls += 1;
      other.fail(other.calls);
      return { vectors: texts.map(short), tokens: texts.length };
    },
  };
  const embedders: Embedders = {
    of: (model) => (model.providerKind === 'builtin' ? builtin.of(model) : embedder),
  };
  return { builtin, other, embedders };
}

const fact = 'the beacon is blue';

async function spaceWith(embedders: Embedders, texts: readonly string[]) {
  const space = await world.addSpace();
  const { collection } = await world.act(space, (ctx) => createCollection(ctx, { name: 'C' }));
  const add = async (content: string, by: Embedders | null = embedders): Promise<string> => {
    const { document } = await world.act(space, (ctx) =>
      uploadDocument(ctx, {
        collectionId: collection.id,
        filename: 'a.md',
        mediaType: 'text/markdown',
        content,
        metadata: {},
      }),
    );
    await ingest(
      { unitOfWork: world.unitOfWork, ...(by === null ? {} : { embedders: by }) },
      { tenantId: space.tenantId, documentId: document.id },
    );
    return document.id;
  };
  for (const text of texts) {
    await add(text);
  }
  return { space, add };
}

/** Begins a change of the space's model. @returns the generation */
async function change({ tenantId, spaceId }: SpaceFixture): Promise<string> {
  const [model, generation] = [newId(), newId()];
  await world.admin.query(
    `insert into embedding_models (tenant_id, id, alias, provider_kind, provider_model, dims, max_tokens)
     values ($1, $2, 'other', 'openai', 'other', $3, 512)`,
    [tenantId, model, otherDims],
  );
  await world.admin.query(
    `insert into embedding_generations (tenant_id, id, space_id, model_id, state, mean)
     values ($1, $2, $3, $4, 'building', '')`,
    [tenantId, generation, spaceId, model],
  );
  return generation;
}

const embed = (space: SpaceFixture, embedders: Embedders, attempt = 1, findLists?: FindLists) => {
  const { embedSpace } = createKnowledgeActivities({
    unitOfWork: world.unitOfWork,
    extractor,
    embedders,
    ...(findLists && { findLists }),
  });
  return new MockActivityEnvironment({ attempt }).run(embedSpace, space);
};
const search = (space: SpaceFixture, embedders: Embedders) =>
  searchKnowledge(world.access(space, embedders), {
    spaceId: space.spaceId,
    collectionIds: null,
    query: fact,
    limit: 5,
    alpha: 1,
  });
const stateOf = async (generation: string) => {
  const { rows } = await world.admin.query<{ state: string; last_error: string | null }>(
    'select state, last_error from embedding_generations where id = $1',
    [generation],
  );
  return rows[0];
};
const progressOf = async (documentId: string) => {
  const { rows } = await world.admin.query<{ n: number; pending: boolean }>(
    'select embedded_count as n, embedding_pending as pending from documents where id = $1',
    [documentId],
  );
  return rows[0];
};

describe('a change of the model', () => {
  it('is not seen by searches before its vectors are complete, and then they use only these', async () => {
    const { other, embedders } = twoModels();
    const { space } = await spaceWith(embedders, [fact, 'quite different words']);
    const before = await search(space, embedders);
    const generation = await change(space);
    // Its calibration and the first document succeed.
    other.fail = (call) => {
      if (call === 3) {
        throw new EmbeddingFailure('unavailable');
      }
    };
    await expect(embed(space, embedders)).rejects.toMatchObject({ type: 'unavailable' });
    expect(await stateOf(generation)).toEqual({ state: 'building', last_error: 'unavailable' });
    expect(await search(space, embedders)).toEqual(before);
    expect(await embed(space, embedders)).toEqual({ state: 'more' });
    const after = await search(space, embedders);
    expect(after).toMatchObject({ mode: 'hybrid', generation });
    expect(after.passages[0]?.text).toBe(fact);
    expect(before.generation).not.toBe(generation);
  });

  it('goes on while the present model does not answer, though documents wait for it', async () => {
    const { builtin, embedders } = twoModels();
    const { space, add } = await spaceWith(embedders, ['quite different words']);
    const waiting = await add(fact, null);
    const generation = await change(space);
    builtin.before = () => {
      throw new EmbeddingFailure('refused');
    };
    await embed(space, embedders).catch(() => {});
    expect(await stateOf(generation)).toEqual({ state: 'active', last_error: null });
    expect(await progressOf(waiting)).toEqual({ n: 1, pending: false });
    expect((await search(space, embedders)).passages[0]?.text).toBe(fact);
  });

  it('leaves documents pending that lack its vectors when it is activated', async () => {
    const { embedders } = twoModels();
    const { space, add } = await spaceWith(embedders, []);
    const documentId = await add(fact);
    expect(await progressOf(documentId)).toEqual({ n: 1, pending: false });
    const embeddingId = await change(space);
    await world.unitOfWork.inTenant(space.tenantId, (em) =>
      activateGeneration(em, { tenantId: space.tenantId, spaceId: space.spaceId, embeddingId }),
    );
    expect(await progressOf(documentId)).toEqual({ n: 0, pending: true });
    expect(await embed(space, embedders)).toEqual({ state: 'idle' });
    expect(await progressOf(documentId)).toEqual({ n: 1, pending: false });
  });
});

describe('the usage of a space', () => {
  it('counts the texts of documents, of questions, and of the calibration of each of its models', async () => {
    const { embedders } = twoModels();
    const { space } = await spaceWith(embedders, [fact, 'quite different words']);
    const used = async () => {
      const { rows } = await world.admin.query(
        `select m.alias, u.purpose, sum(u.texts)::int4 as texts, sum(u.input_tokens)::int4 as tokens
         from embedding_usage u join embedding_models m on m.id = u.model_id
         where u.space_id = $1 group by 1, 2 order by 1, 2`,
        [space.spaceId],
      );
      return rows.map(({ alias, purpose, texts, tokens }) => [alias, purpose, texts, tokens]);
    };
    const ofBuiltin = [
      ['builtin', 'calibration', calibrationTexts.length, calibrationTexts.length],
      ['builtin', 'passages', 2, 2],
    ];
    expect(await used()).toEqual(ofBuiltin);
    await change(space);
    expect(await embed(space, embedders)).toEqual({ state: 'more' });
    await search(space, embedders);
    expect(await used()).toEqual([
      ...ofBuiltin,
      ['other', 'calibration', calibrationTexts.length, calibrationTexts.length],
      ['other', 'passages', 2, 2],
      ['other', 'query', 1, 1],
    ]);
  });
});

describe('documents without vectors', () => {
  it('are embedded two at a time, so that the model need not wait for the database', async () => {
    const embedders = wordEmbedders();
    const { space, add } = await spaceWith(embedders, ['The lamp is lit.']);
    for (const n of [1, 2, 3]) {
      await add(`Text ${n}.`, null);
    }
    const { promise: areTwo, resolve } = Promise.withResolvers<void>();
    let calls = 0;
    embedders.before = async () => {
      calls += 1;
      if (calls === 2) {
        resolve();
      }
      await areTwo;
    };
    expect(await embed(space, embedders)).toEqual({ state: 'idle' });
    expect(calls).toBe(3);
    const { rows } = await world.admin.query(
      'select embedded_count as n, embedding_pending as pending from documents where tenant_id = $1',
      [space.tenantId],
    );
    expect(rows).toEqual(Array.from({ length: 4 }, () => ({ n: 1, pending: false })));
  });
});

describe('passages whose vectors are known', () => {
  const textOf = (passages: number) =>
    Array.from({ length: passages }, (_, n) => `# Part ${n}\n\nThe beacon ${n} is blue.`).join('\n\n');
  const known = textOf(150);
  const activities = (embedders: Embedders, reuse: { take(tenantId: string): Promise<void> }) =>
    createKnowledgeActivities({ unitOfWork: world.unitOfWork, embedders, extractor, reuse });

  it('take a turn of their tenant for each hundred of them, of all documents together', async () => {
    const embedders = wordEmbedders();
    const { space, add } = await spaceWith(embedders, [known]);
    await add(known, null);
    await add(known, null);
    const taken: string[] = [];
    const { embedSpace } = activities(embedders, { take: async (tenantId) => void taken.push(tenantId) });
    expect(await new MockActivityEnvironment().run(embedSpace, space)).toEqual({ state: 'idle' });
    expect(taken).toEqual([space.tenantId, space.tenantId, space.tenantId]);
  });

  it('wait for it before more of them get a vector', async () => {
    const embedders = wordEmbedders();
    const { space, add } = await spaceWith(embedders, [textOf(300)]);
    const documentId = await add(textOf(300), null);
    const [asked, turn] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const { embedDocument } = activities(embedders, { take: () => (asked.resolve(), turn.promise) });
    const input = { tenantId: space.tenantId, documentId };
    const embedding = new MockActivityEnvironment().run(embedDocument, input);
    await asked.promise;
    const vectors = async () =>
      (await world.admin.query('select 1 from chunk_embeddings where document_id = $1', [documentId]))
        .rowCount;
    const before = await vectors();
    expect(before).toBeGreaterThanOrEqual(100);
    expect(before).toBeLessThan(300);
    await sleep(300);
    expect(await vectors()).toBe(before);
    turn.resolve();
    expect(await embedding).toEqual({ state: 'done' });
    expect(await vectors()).toBe(300);
  });

  it('are the only ones that do', async () => {
    const embedders = wordEmbedders();
    const { space, add } = await spaceWith(embedders, []);
    await add(known, null);
    const take = () => Promise.reject(new Error('No turn is needed.'));
    const { embedSpace } = activities(embedders, { take });
    expect(await new MockActivityEnvironment().run(embedSpace, space)).toEqual({ state: 'idle' });
  });
});

describe('a document that the model cannot embed', () => {
  it('says why, is found by keyword, and does not hold up the others', async () => {
    const { embedders: able } = twoModels();
    const embedders: Embedders = {
      of: (model) => {
        const embedder = able.of(model);
        return {
          ...embedder,
          embedPassages: (texts, signal) =>
            texts.includes('quite different words')
              ? Promise.reject(new EmbeddingFailure('too_large'))
              : embedder.embedPassages(texts, signal),
        };
      },
    };
    const { space, add } = await spaceWith(embedders, []);
    const [bad, good] = [await add('quite different words', null), await add(fact, null)];
    expect(await embed(space, embedders)).toEqual({ state: 'idle' });
    expect(await progressOf(bad)).toEqual({ n: 0, pending: false });
    expect(await progressOf(good)).toEqual({ n: 1, pending: false });
    const { rows } = await world.admin.query('select embedding_error as error from documents where id = $1', [
      bad,
    ]);
    expect(rows).toEqual([{ error: 'too_large' }]);
  });
});

describe('a model that too many calls of the tenant wait for', () => {
  it('is tried again after a pause that grows, and is not shown as failing', async () => {
    const { builtin, embedders } = twoModels();
    const { space, add } = await spaceWith(embedders, [fact]);
    const documentId = await add('quite different words', null);
    builtin.before = () => {
      throw new EmbeddingFailure('busy');
    };
    const pauseAt = async (attempt: number) => {
      const failure = (await embed(space, embedders, attempt).catch((e: unknown) => e)) as ApplicationFailure;
      expect(failure.type).toBe('embedder_busy');
      return Number(failure.nextRetryDelay);
    };
    expect(await pauseAt(1)).toBeLessThan(2_000);
    expect(await pauseAt(10)).toBeGreaterThan(60_000);
    const { embedDocument } = createKnowledgeActivities({
      unitOfWork: world.unitOfWork,
      extractor,
      embedders,
    });
    const { tenantId } = space;
    await expect(
      new MockActivityEnvironment().run(embedDocument, { tenantId, documentId }),
    ).rejects.toMatchObject({ type: 'embedder_busy', nextRetryDelay: expect.any(Number) });
    const { rows } = await world.admin.query(
      'select last_error from embedding_generations where space_id = $1',
      [space.spaceId],
    );
    expect(rows).toEqual([{ last_error: null }]);
  });
});

describe('a large space', () => {
  it('is divided into lists, after a pause where too much other work waits for the processes', async () => {
    const { embedders } = twoModels();
    const { space } = await spaceWith(embedders, [fact, 'quite different words']);
    await world.admin.query('update collections set chunk_count = 400000 where space_id = $1', [
      space.spaceId,
    ]);
    const busy: FindLists = () => Promise.reject(new EmbeddingFailure('busy'));
    await expect(embed(space, embedders, 1, busy)).rejects.toMatchObject({ type: 'embedder_busy' });
    expect(await embed(space, embedders, 2, findListsHere)).toEqual({ state: 'idle' });
    const { rows } = await world.admin.query(
      `select v.list > 0 as listed, g.partitioned_at is not null as done, g.last_error as error
       from embedding_generations g
       join chunk_vectors v on v.tenant_id = g.tenant_id and v.embedding_id = g.id where g.space_id = $1`,
      [space.spaceId],
    );
    expect(rows).toEqual(Array.from({ length: 2 }, () => ({ listed: true, done: true, error: null })));
  });
});

describe('a model that does not answer', () => {
  it('is asked rarely after some minutes, and before at the pace of the workflow', async () => {
    const { builtin, embedders } = twoModels();
    const { space, add } = await spaceWith(embedders, []);
    await add(fact, null);
    builtin.before = () => {
      throw new EmbeddingFailure('unavailable');
    };
    const delayAt = (attempt: number) =>
      embed(space, embedders, attempt).then(
        () => 0,
        (error: ApplicationFailure) => error.nextRetryDelay,
      );
    expect(await delayAt(20)).toBeUndefined();
    const delay = Number(await delayAt(21));
    expect(delay).toBeGreaterThanOrEqual(90_000);
    expect(delay).toBeLessThanOrEqual(150_000);
    expect(await delayAt(29)).toBeGreaterThanOrEqual(90_000);
    // The workflow may continue as a new one.
    expect(await embed(space, embedders, 30)).toEqual({ state: 'more' });
  });
});
