import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { deleteDocument } from '#domain/knowledge/collections/delete-document.ts';
import { recordRerankingUsage } from '#domain/knowledge/reranking/record-reranking-usage.ts';
import { updateRerankingModel } from '#domain/knowledge/reranking/update-reranking-model.ts';
import type { KnowledgeQuery } from '#domain/knowledge/search/knowledge-query.ts';
import { runKnowledgeTool } from '#domain/knowledge/search/knowledge-tool.ts';
import type { QuestionAccess } from '#domain/knowledge/search/question-vector.ts';
import { searchKnowledge, type KnowledgeAnswer } from '#domain/knowledge/search/search-knowledge.ts';
import { searchSpaces } from '#domain/knowledge/search/search-spaces.ts';
import { EmbeddingSpace } from '#test/support/embedding-space.ts';
import { openWorld, type KnowledgeWorld } from '#test/support/knowledge-world.ts';
import { rerankBy, rerankersFor } from '#test/support/reranking-rows.ts';
import {
  startRerankServer,
  type RerankScript,
  type RerankServer,
} from '#test/support/wire-fakes/rerank-server.ts';
import { wordEmbedders } from '#test/support/word-embedders.ts';

let world: KnowledgeWorld;
let server: RerankServer;
const embedders = wordEmbedders();
const ordinary = (_query: string, text: string) => Number(/score (\d+)/.exec(text)?.[1] ?? 0) / 100;

beforeAll(async () => {
  world = await openWorld();
  server = await startRerankServer();
  server.judge = ordinary;
});
afterEach(() => {
  server.requests.length = 0;
  server.scripts.length = 0;
  server.before = () => {};
});
afterAll(async () => {
  await server?.stop();
  await world?.stop();
});

const question = 'the beacon is blue';
/** The search likes the first most, the model the last. */
const sections = (count: number) =>
  Array.from(
    { length: count },
    (_, n) => `# Part ${n}\n\n${question} ${'and then some other words '.repeat(n)}score ${n}\n`,
  );

async function spaceWith(content: string, tenantId?: string): Promise<EmbeddingSpace> {
  const space = await EmbeddingSpace.create(world, embedders, tenantId);
  await space.add(content);
  return space;
}

const accessOf = (space: EmbeddingSpace): QuestionAccess => ({
  ...world.access(space.fixture, embedders),
  rerankers: rerankersFor(server),
});
const search = (
  space: EmbeddingSpace,
  more: Partial<KnowledgeQuery> = {},
  access: Partial<QuestionAccess> = {},
) =>
  searchKnowledge(
    { ...accessOf(space), ...access },
    { spaceId: space.fixture.spaceId, collectionIds: null, query: question, limit: 3, alpha: 0.75, ...more },
  );
const headings = (passages: { heading: string | null }[]) => passages.map(({ heading }) => heading);

async function ledgerOf({ fixture }: EmbeddingSpace) {
  const { rows } = await world.admin.query(
    `select model_id, passages, input_tokens::int as tokens, searches, cost_pico_usd as cost
     from reranking_usage where tenant_id = $1 and space_id = $2`,
    [fixture.tenantId, fixture.spaceId],
  );
  return rows;
}

describe('a search of a space with a reranking model', () => {
  it.each([0, 0.75])(
    'with an alpha of %d is in the model’s order and has its scores, from behind the limit, too',
    async (alpha) => {
      const space = await spaceWith(sections(12).join('\n'));
      const plain = await search(space, { alpha });
      expect(plain.reranking).toEqual({ modelId: null, reason: 'not_chosen' });
      expect(plain.passages.every(({ rerankScore }) => rerankScore === null)).toBe(true);
      const model = await rerankBy(world, space.fixture, server, { price: '0.5', searchPrice: '2' });
      const { passages, reranking, mode } = await search(space, { alpha });
      expect(mode).toBe(plain.mode);
      expect(reranking).toEqual({ modelId: model.id, reason: null });
      expect(headings(passages)).toEqual(['Part 11', 'Part 10', 'Part 9']);
      expect(headings(plain.passages)).not.toEqual(headings(passages));
      expect(passages.map(({ score }) => score)).toEqual([0.11, 0.1, 0.09]);
      for (const { score, rerankScore, searchScore } of passages) {
        expect(rerankScore).toBe(score);
        expect(searchScore).toBeLessThanOrEqual(plain.passages[0]!.score);
      }
      const [request] = server.requests;
      expect(request).toMatchObject({ query: question, refusal: null });
      // With its headings, as a reader sees it.
      expect(request!.texts).toContain(`Part 0\n${question} score 0`);
      expect(await ledgerOf(space)).toEqual([
        // 11 tokens of each passage at half a micro-dollar, and a search at 2,000 micro-dollars.
        { model_id: model.id, passages: 12, tokens: 132, searches: 1, cost: String(132 * 500_000 + 2e9) },
      ]);
    },
  );

  it('asks the model while no transaction is open', async () => {
    const space = await spaceWith(sections(2).join('\n'));
    await rerankBy(world, space.fixture, server);
    const { inTransaction } = accessOf(space);
    let open = 0;
    const seen: number[] = [];
    server.before = () => void seen.push(open);
    await search(
      space,
      {},
      {
        inTransaction: (work) => {
          open += 1;
          return inTransaction(work).finally(() => (open -= 1));
        },
      },
    );
    expect(seen).toEqual([0]);
  });

  it('sends a text that several passages have once', async () => {
    const space = await spaceWith(sections(9).join('\n'));
    await space.add(sections(9).join('\n'));
    await rerankBy(world, space.fixture, server);
    const { passages } = await search(space, { limit: 20 });
    expect(passages).toHaveLength(9);
    expect(server.requests.map(({ texts }) => texts.length)).toEqual([9]);
  });

  it('is reranked as the space has chosen, unless the request says otherwise', async () => {
    const space = await spaceWith(sections(3).join('\n'));
    const { id } = await rerankBy(world, space.fixture, server, { byDefault: false });
    expect((await search(space)).reranking).toEqual({ modelId: null, reason: 'not_requested' });
    expect((await search(space, { rerank: true })).reranking).toEqual({ modelId: id, reason: null });
    await rerankBy(world, space.fixture, server);
    expect((await search(space, { rerank: false })).reranking.reason).toBe('not_requested');
    expect(server.requests).toHaveLength(1);
  });

  it('without a passage asks no model', async () => {
    const space = await EmbeddingSpace.create(world, embedders);
    await rerankBy(world, space.fixture, server);
    expect(await search(space)).toMatchObject({
      passages: [],
      reranking: { modelId: null, reason: 'nothing_found' },
    });
    expect(server.requests).toEqual([]);
  });

  it('goes on in its own order when the model in use is withdrawn, and back when it is restored', async () => {
    const space = await spaceWith(sections(3).join('\n'));
    const { id } = await rerankBy(world, space.fixture, server);
    const disable = (disabled: boolean) =>
      world.act(space.fixture, (ctx) => updateRerankingModel(ctx, { id, disabled }));
    await disable(true);
    const { passages, reranking } = await search(space);
    expect(reranking).toEqual({ modelId: null, reason: 'model_disabled' });
    expect(headings(passages)[0]).toBe('Part 0');
    expect(server.requests).toEqual([]);
    await disable(false);
    expect(headings((await search(space)).passages)[0]).toBe('Part 2');
    await expect(
      world.admin.query('delete from reranking_models where id = $1', [id]),
      'a row that costs and choices refer to',
    ).rejects.toMatchObject({ code: '23503' });
  });
});

describe('a reranking model that fails', () => {
  const scripts: [script: RerankScript, reason: string][] = [
    ['silence', 'reranker_unavailable'],
    ['drip', 'reranker_unavailable'],
    [{ status: 500 }, 'reranker_unavailable'],
    [{ status: 429 }, 'reranker_unavailable'],
    [{ status: 401 }, 'reranker_refused'],
    ['wrong_index', 'reranker_malformed'],
    ['duplicate_index', 'reranker_malformed'],
    ['one_short', 'reranker_malformed'],
    ['one_more', 'reranker_malformed'],
    ['nan', 'reranker_malformed'],
    ['no_results', 'reranker_malformed'],
  ];
  let space: EmbeddingSpace;
  let plain: KnowledgeAnswer;
  beforeAll(async () => {
    space = await spaceWith(sections(5).join('\n'));
    plain = await search(space);
    await rerankBy(world, space.fixture, server);
  });

  it.each(scripts)('by %j leaves the order of the search, and the answer says %s', async (script, reason) => {
    server.scripts.push(script);
    const since = performance.now();
    const answer = await search(space);
    expect(performance.now() - since).toBeLessThan(12_000);
    expect(answer).toEqual({ ...plain, reranking: { modelId: null, reason } });
    expect(await ledgerOf(space)).toEqual([]);
  });

  it('is not blamed for a caller that has left', async () => {
    const left = new AbortController();
    server.scripts.push('silence');
    const searching = search(space, {}, { signal: left.signal });
    await expect.poll(() => server.requests.length).toBe(1);
    left.abort(new Error('left'));
    await expect(searching).rejects.toThrow('left');
  });

  it('is unavailable in a process without rerankers', async () => {
    const { reranking } = await search(space, {}, { rerankers: undefined });
    expect(reranking).toEqual({ modelId: null, reason: 'reranker_unavailable' });
  });
});

describe('what a reranking model sees', () => {
  async function enforcing() {
    const space = await EmbeddingSpace.create(world, embedders);
    await world.admin.query('update collections set enforce_source_readers = true where id = $1', [
      space.collectionId,
    ]);
    await rerankBy(world, space.fixture, server);
    const add = async (text: string, readers: string) => {
      const id = await space.add(text);
      await world.admin.query('update documents set source_readers = $2 where id = $1', [id, readers]);
      return id;
    };
    return { space, add };
  }

  it.each([0, 0.75])('with an alpha of %d is only what its asker may read', async (alpha) => {
    const { space, add } = await enforcing();
    await add(`${question} secretly score 99`, '{}');
    await add(`${question} openly score 1`, '{public}');
    expect((await search(space, { alpha })).passages).toHaveLength(1);
    expect(server.requests).toHaveLength(1);
    expect(server.requests[0]!.texts).toEqual([`${question} openly score 1`]);
  });

  it('is not shown any more where it may not be read, or is deleted, when the model has answered', async () => {
    const { space, add } = await enforcing();
    const closed = await add(`${question} at first score 99`, '{public}');
    const deleted = await add(`${question} for now score 98`, '{public}');
    await add(`${question} always score 1`, '{public}');
    server.before = async () => {
      await world.admin.query(`update documents set source_readers = '{}' where id = $1`, [closed]);
      await world.act(space.fixture, (ctx) =>
        deleteDocument(ctx, { collectionId: space.collectionId, documentId: deleted }),
      );
    };
    const { passages, reranking } = await search(space);
    expect(server.requests[0]!.texts).toHaveLength(3);
    expect(passages).toMatchObject([{ text: `${question} always score 1`, score: 0.01 }]);
    expect(reranking.reason).toBeNull();
  });
});

describe('the tool of responses', () => {
  const call = (space: EmbeddingSpace, rerank?: boolean) =>
    runKnowledgeTool(accessOf(space), {
      spaceId: space.fixture.spaceId,
      tool: {
        collection_ids: null,
        max_num_results: 2,
        alpha: 0.75,
        ...(rerank === undefined ? {} : { rerank }),
      },
      arguments: JSON.stringify({ query: question }),
      firstLabel: 0,
    });

  it('has the model’s order, and says when it has not', async () => {
    const space = await spaceWith(sections(6).join('\n'));
    await rerankBy(world, space.fixture, server);
    const reranked = JSON.parse((await call(space)).text);
    expect(reranked).toMatchObject({
      reranked: true,
      results: [{ heading: 'Part 5' }, { heading: 'Part 4' }],
    });
    server.scripts.push({ status: 500 });
    expect(JSON.parse((await call(space)).text)).toMatchObject({
      reranked: false,
      reason: 'reranker_unavailable',
      results: [{ heading: 'Part 0' }, {}],
    });
    expect(JSON.parse((await call(space, false)).text)).not.toHaveProperty('reranked');
  });
});

describe('a search of several spaces', () => {
  it('keeps each model’s order, merged by the scores of the search', async () => {
    const first = await spaceWith(sections(3).join('\n'));
    const second = await spaceWith('# Other\n\nthe beacon is blue and old\n', first.fixture.tenantId);
    const ask = (limit = 5) =>
      searchSpaces(
        {
          principalId: first.fixture.principalId,
          embedders,
          rerankers: rerankersFor(server),
          signal: new AbortController().signal,
          inContext: (spaceId, work) =>
            world.act(spaceId === second.fixture.spaceId ? second.fixture : first.fixture, work),
        },
        { collectionIds: null, query: question, limit, alpha: 0.75 },
      );
    const plain = await ask();
    const { id } = await rerankBy(world, first.fixture, server);
    const merged = await ask();
    expect(plain.reranking).toEqual({ modelId: null, reason: 'not_chosen' });
    // The other space has none.
    expect(merged.reranking).toEqual({ modelId: id, reason: 'not_chosen' });
    expect(headings(merged.passages).filter((each) => each !== 'Other')).toEqual([
      'Part 2',
      'Part 1',
      'Part 0',
    ]);
    expect(merged.passages.map(({ score }) => score)).toEqual(plain.passages.map(({ score }) => score));
    const place = (passages: { heading: string | null }[]) => headings(passages).indexOf('Other');
    expect(place(merged.passages)).toBe(place(plain.passages));
    expect(server.requests.flatMap(({ texts }) => texts).join()).not.toContain('Other');
    // The model's first passage, which is the last of the search, takes the place of the first.
    const [best] = (await ask(1)).passages;
    expect(best).toMatchObject({ heading: 'Part 2', score: plain.passages[0]!.score });
  });
});

describe('the ledger', () => {
  it('takes the highest prices and counts', async () => {
    const space = await EmbeddingSpace.create(world, embedders);
    const { spaceId } = space.fixture;
    const model = await rerankBy(world, space.fixture, server, {
      price: '999999.999999',
      searchPrice: '999999.999999',
    });
    const use = { spaceId, model, passages: 100, tokens: 3_000_000, searches: 100 };
    await world.unitOfWork.inTenant(space.fixture.tenantId, (em) => recordRerankingUsage(em, use));
    expect(await ledgerOf(space)).toHaveLength(1);
  });
});
