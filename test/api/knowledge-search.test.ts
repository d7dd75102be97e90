import type { Client } from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { run } from '../../bin/platform/program.ts';
import { estimateTokens } from '#domain/foundation/kernel/estimate-tokens.ts';
import { newId } from '#domain/foundation/kernel/ids.ts';
import { EmbeddingFailure } from '#domain/knowledge/embeddings/embedder.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { openGateway, type Answer, type TestGateway } from '../support/gateway.ts';
import { ingest } from '../support/ingest.ts';
import { createPlaces, Maker, type Place } from '../support/places.ts';
import { connect } from '../support/tables.ts';
import { wordEmbedders } from '../support/word-embedders.ts';
import { addMember, createWorld, type World } from '../support/world.ts';

const embedders = wordEmbedders();
let database: TestDatabase;
let gateway: TestGateway;
let admin: Client;
let world: World;
let here: Place;
let neighbour: Place;
let abroad: Place;
/** A collection of each place. */
let harbour: string;
let neighbouring: string;
let foreign: string;
let guide: string;
const maker = new Maker(() => gateway);

const text = `# Harbour guide

## Beacons

The Halden beacon is painted ultramarine. It was raised by the harbour board.

## Fish

Fish is sold on the quay on Fridays.
`;

beforeAll(async () => {
  database = await createTestDatabase();
  gateway = await openGateway(database, {}, embedders);
  admin = await connect(database.adminUrl);
  ({ world, here, neighbour, abroad } = await createPlaces(database));
  harbour = await maker.collection(here);
  neighbouring = await maker.collection(neighbour);
  foreign = await maker.collection(abroad);
  guide = await add(here, harbour, { filename: 'guide.md', content: text, metadata: { lang: 'en' } });
  await add(neighbour, neighbouring, {
    filename: 'next.md',
    content: 'The beacon of Moss is painted crimson.',
  });
  await add(abroad, foreign, { filename: 'theirs.md', content: 'The beacon of Riga is painted white.' });
});
beforeEach(() => {
  embedders.before = () => {};
});
afterAll(async () => {
  await admin?.end();
  await gateway?.close();
  await database?.drop();
});

interface NewDocument {
  filename: string;
  content: string;
  metadata?: Record<string, string>;
}

async function add(place: Place, collectionId: string, document: NewDocument): Promise<string> {
  const path = `/v1/spaces/${place.spaceId}/collections/${collectionId}/documents`;
  const body = { media_type: 'text/markdown', ...document };
  const made = await gateway.send({ method: 'POST', path, apiKey: place.apiKey, body });
  const documentId = made.body.data.id as string;
  await ingest({ unitOfWork: database.unitOfWork, embedders }, { tenantId: place.tenantId, documentId });
  return documentId;
}

const execute = (body: unknown, { spaceId, apiKey }: Pick<Place, 'spaceId' | 'apiKey'> = here) =>
  gateway.send({
    method: 'POST',
    path: `/v1/spaces/${spaceId}/tools/knowledge_search/execute`,
    apiKey,
    body,
  });

const calculate = (query: Record<string, string>, body?: unknown, apiKey = here.apiKey) =>
  gateway.send({
    method: 'POST',
    path: `/v1/knowledge/calculate_context?${new URLSearchParams(query).toString()}`,
    apiKey,
    ...(body === undefined ? {} : { body }),
  });

const question = 'Which colour is the beacon?';
const filesOf = ({ body }: Answer): string[] =>
  (body.data.results as { filename: string }[]).map(({ filename }) => filename);
const refusalOf = ({ status, body }: Answer) => [status, body.error?.code];

describe('the search of a space', () => {
  it('answers with passages, their documents and a text for a prompt, by meaning and by words', async () => {
    const { status, body } = await execute({ query: question });
    expect(status).toBe(200);
    const { mode, reason, generation, results, sources, context } = body.data;
    expect({ mode, reason }).toEqual({ mode: 'hybrid', reason: null });
    const active = await admin.query(
      `select id from embedding_generations where tenant_id = $1 and space_id = $2 and state = 'active'`,
      [here.tenantId, here.spaceId],
    );
    expect(generation).toBe(active.rows[0].id);
    expect(results[0]).toMatchObject({
      document_id: guide,
      filename: 'guide.md',
      collection_id: harbour,
      heading: 'Harbour guide › Beacons',
      page: null,
      anchor: 'heading Beacons',
      attributes: { lang: 'en' },
    });
    expect(text.slice(results[0].start, results[0].end)).toBe(results[0].text);
    for (const { score, keyword_score: keyword, vector_score: vector } of results) {
      for (const value of [score, keyword, vector]) {
        expect(value).toBeGreaterThanOrEqual(0);
        expect(value).toBeLessThanOrEqual(1);
      }
    }
    expect(results[0].keyword_score).toBeGreaterThan(0);
    expect(results[0].vector_score).toBeGreaterThan(0);
    expect(sources).toEqual([
      {
        document_id: guide,
        filename: 'guide.md',
        collection_id: harbour,
        media_type: 'text/markdown',
        passages: results.map((_: unknown, index: number) => index),
      },
    ]);
    expect(context.text).toMatch(/^\[1\] guide\.md › Harbour guide › Beacons\nThe Halden beacon is/);
    expect(context).toMatchObject({ truncated: false, tokens: estimateTokens(context.text as string) });
  });

  it('is by keyword where alpha is 0, the model fails or nothing is embedded, and says why', async () => {
    const keyword = (reason: string) => ({ mode: 'keyword', reason, generation: null });
    const zero = await execute({ query: question, alpha: 0 });
    expect(zero.body.data).toMatchObject({ ...keyword('alpha_is_zero'), results: [{ vector_score: null }] });
    embedders.before = () => {
      throw new EmbeddingFailure('unavailable');
    };
    const failed = await execute({ query: question });
    expect(failed.body.data).toMatchObject(keyword('embedding_unavailable'));
    expect(filesOf(failed)).toEqual(['guide.md']);
    const { id } = (
      await gateway.send({
        method: 'POST',
        path: '/v1/spaces',
        apiKey: here.apiKey,
        body: { name: `Empty ${newId()}` },
      })
    ).body.data;
    const empty = await execute({ query: question }, { ...here, spaceId: id as string });
    expect([empty.status, empty.body.data]).toEqual([
      200,
      {
        ...keyword('not_embedded'),
        reranking: { model_id: null, reason: 'not_chosen' },
        results: [],
        sources: [],
        context: { text: '', tokens: 0, truncated: false },
      },
    ]);
  });

  it('keeps to collections, metadata, times and the number of results', async () => {
    const other = await maker.collection(here);
    await add(here, other, { filename: 'a.md', content: 'The beacon is red.', metadata: { lang: 'de' } });
    await admin.query(`update documents set created_at = '2020-01-01' where collection_id = $1`, [other]);
    const found = async (rest: object) =>
      [...new Set(filesOf(await execute({ query: question, ...rest })))].sort();
    expect(await found({})).toEqual(['a.md', 'guide.md']);
    expect(await found({ collection_ids: [other] })).toEqual(['a.md']);
    expect(await found({ filters: { metadata: { lang: 'en' } } })).toEqual(['guide.md']);
    expect(await found({ filters: { created_before: '2021-01-01T00:00:00Z' } })).toEqual(['a.md']);
    expect(await found({ filters: { created_after: '2021-01-01T00:00:00+02:00' } })).toEqual(['guide.md']);
    expect((await execute({ query: question, max_results: 1 })).body.data.results).toHaveLength(1);
    await maker.remove(here, `collections/${other}`);
  });

  it('shows page and place of a passage, and fits the text for a prompt into its budget', async () => {
    const paged = await maker.collection(here);
    const content = Array.from(
      { length: 9 },
      (_, n) => `# Part ${n}\n\n${`The buoy ${n} is green. `.repeat(20)}`,
    );
    await add(here, paged, { filename: 'paged.md', content: content.join('\n\n') });
    await admin.query(`update chunks set page = position + 1, anchor = 'slide' where collection_id = $1`, [
      paged,
    ]);
    const ask = async (rest: object) =>
      (await execute({ query: 'green buoy', collection_ids: [paged], ...rest })).body.data;
    const { results, context } = await ask({ max_tokens: 400 });
    expect(results).toHaveLength(8);
    expect(results[0]).toMatchObject({ page: expect.any(Number), anchor: 'slide' });
    expect(context.text).toContain(`[1] paged.md › ${results[0].heading}, page ${results[0].page}\nThe buoy`);
    expect(context).toMatchObject({ truncated: true, tokens: estimateTokens(context.text as string) });
    expect(context.tokens).toBeLessThanOrEqual(400);
    expect(context.text).toContain('\n\n[2] ');
    const small = (await ask({ max_tokens: 64 })).context;
    expect(small.tokens).toBeLessThanOrEqual(64);
    expect(small.text).toMatch(/^\[1\] paged\.md .+\nThe buoy \d is green\./);
    await maker.remove(here, `collections/${paged}`);
  });

  it('embeds the question while no transaction is open', async () => {
    const open: number[] = [];
    embedders.before = async () => {
      const { rowCount } = await admin.query(
        `select from pg_stat_activity where datname = current_database() and state like 'idle in transaction%'`,
      );
      open.push(rowCount ?? 0);
    };
    await execute({ query: question });
    expect(open).toEqual([0]);
  });

  it('needs knowledge.search, in the space', async () => {
    const viewer = await addMember(database.unitOfWork, world, { spaceRole: 'space_viewer' });
    const member = await addMember(database.unitOfWork, world);
    expect(refusalOf(await execute({ query: question }, { ...here, apiKey: viewer.apiKey }))).toEqual([
      403,
      'missing_permission',
    ]);
    expect((await execute({ query: question }, { ...here, apiKey: member.apiKey })).status).toBe(200);
    const outside = await execute({ query: question }, { ...neighbour, apiKey: member.apiKey });
    expect(refusalOf(outside)).toEqual([403, 'missing_permission']);
    expect(refusalOf(await execute({ query: question }, { ...here, apiKey: abroad.apiKey }))).toEqual([
      404,
      'space_not_found',
    ]);
    for (const id of [neighbouring, foreign, newId()]) {
      const answer = await execute({ query: question, collection_ids: [harbour, id] });
      expect(refusalOf(answer)).toEqual([404, 'collection_not_found']);
    }
  });

  it.each<[object, string]>([
    [{}, '/query'],
    [{ query: '' }, '/query'],
    [{ query: ' \n ' }, '/query'],
    [{ query: 7 }, '/query'],
    [{ query: 'x'.repeat(4_001) }, '/query'],
    [{ query: 'x', collection_ids: [] }, '/collection_ids'],
    [{ query: 'x', collection_ids: 'x' }, '/collection_ids'],
    [{ query: 'x', collection_ids: ['x'] }, '/collection_ids/0'],
    [{ query: 'x', collection_ids: Array.from({ length: 51 }, newId) }, '/collection_ids'],
    [{ query: 'x', max_results: 0 }, '/max_results'],
    [{ query: 'x', max_results: 51 }, '/max_results'],
    [{ query: 'x', max_results: 1.5 }, '/max_results'],
    [{ query: 'x', alpha: 1.01 }, '/alpha'],
    [{ query: 'x', alpha: -0.1 }, '/alpha'],
    [{ query: 'x', alpha: null }, '/alpha'],
    [{ query: 'x', alpha: '0.5' }, '/alpha'],
    [{ query: 'x', max_tokens: 63 }, '/max_tokens'],
    [{ query: 'x', max_tokens: 32_001 }, '/max_tokens'],
    [{ query: 'x', filters: [] }, '/filters'],
    [{ query: 'x', filters: { metadata: { a: 1 } } }, '/filters/metadata/a'],
    [{ query: 'x', filters: { metadata: { a: 'x'.repeat(513) } } }, '/filters/metadata/a'],
    [
      {
        query: 'x',
        filters: { metadata: Object.fromEntries(Array.from({ length: 17 }, (_, n) => [n, ''])) },
      },
      '/filters/metadata',
    ],
    [{ query: 'x', filters: { created_after: 'yesterday' } }, '/filters/created_after'],
    [{ query: 'x', filters: { created_before: '2026-01-01' } }, '/filters/created_before'],
    [{ query: 'x', filters: { page: 1 } }, '/filters/page'],
    [{ query: 'x', limit: 1 }, '/limit'],
  ])('refuses %j at %s', async (body, pointer) => {
    const { status, body: answer } = await execute(body);
    expect(status).toBe(422);
    expect(answer.error.errors[0]).toMatchObject({ in: 'body', pointer });
  });

  it('lets a tenant search a few times at once, and refuses the rest for a moment', async () => {
    // A search holds its place where it reads from the database.
    await admin.query('begin');
    await admin.query('lock table collections in access exclusive mode');
    const asked = Array.from({ length: 48 }, () => execute({ query: question }));
    const first = await Promise.race(asked);
    expect(refusalOf(first)).toEqual([429, 'rate_limited']);
    expect(first.headers['retry-after']).toBe('1');
    const other = execute({ query: question }, abroad);
    await admin.query('commit');
    expect((await other).status).toBe(200);
    const statuses = (await Promise.all(asked)).map(({ status }) => status);
    // Eight run and 32 wait; a slow machine may refuse a few of those too.
    expect(statuses.filter((status) => status === 429).length).toBeGreaterThanOrEqual(8);
    expect(statuses.filter((status) => status === 200).length).toBeGreaterThanOrEqual(8);
    expect(statuses.filter((status) => ![200, 429].includes(status))).toEqual([]);
  });
});

describe('the command', () => {
  it('prints mode, reason and passages with the scores of both sides', async () => {
    vi.stubEnv('PLATFORM_URL', await gateway.app.listen({ host: '127.0.0.1', port: 0 }));
    vi.stubEnv('PLATFORM_API_KEY', here.apiKey);
    const ask = async (...more: string[]) => {
      let said = '';
      const keep = (part: string) => void (said += part);
      await run(['knowledge', 'search', question, '--space', here.spaceId, ...more], {
        out: keep,
        err: keep,
      });
      return said;
    };
    const said = await ask('--collection', harbour, '--max-results', '1');
    const [best] = (await execute({ query: question, max_results: 1 })).body.data.results;
    expect(said).toMatch(/^mode: +hybrid\nreason: +-\ngeneration: [0-9a-f-]{36}\nreranking: +not_chosen\n\n/);
    expect(said).toContain(
      `[1] ${best.score} (keyword ${best.keyword_score}, vector ${best.vector_score})  guide.md › Harbour guide › Beacons\n${best.text}`,
    );
    expect(await ask('--alpha', '0')).toMatch(/^mode: +keyword\nreason: +alpha_is_zero\n[^]+, vector -\)/);
    expect(await ask('--alpha', '2')).toMatch(/^invalid_request: .+ \(alpha\) \[req_/);
    vi.unstubAllEnvs();
  });
});

describe('the context of a question', () => {
  it('comes from every space that the caller may search, in the same shape, and is deprecated', async () => {
    for (const answer of [await calculate({ question }), await calculate({}, { question })]) {
      expect(answer.status).toBe(200);
      expect(filesOf(answer)).toEqual(expect.arrayContaining(['guide.md', 'next.md']));
      expect(answer.text).not.toContain('theirs.md');
      expect(answer.body.data).toMatchObject({ mode: 'hybrid', reason: null, generation: null });
      const scores = (answer.body.data.results as { score: number }[]).map(({ score }) => score);
      expect(scores).toEqual(scores.toSorted((a, b) => b - a));
      expect(answer.headers['deprecation']).toMatch(/^@\d{10}$/);
      expect(answer.headers['link']).toBe(
        '</api/v1/spaces/%7Bspace_id%7D/tools/knowledge_search/execute>; rel="successor-version"',
      );
    }
    const one = await calculate({ question, collection_ids: harbour });
    const same = await execute({ query: question, collection_ids: [harbour] });
    expect(one.body.data).toEqual({ ...same.body.data, spaces_left_out: 0 });
  });

  it('takes each parameter from the query or the body, and refuses two values', async () => {
    const ids = `${harbour}, ${neighbouring}`;
    const whole = await calculate({ question, collection_ids: ids, alpha: '0.5' });
    for (const answer of [
      await calculate({}, { question, collection_ids: ids, alpha: 0.5 }),
      await calculate({ question }, { collection_ids: ids, alpha: 0.5 }),
      await calculate({ question, alpha: '0.50' }, { question, collection_ids: ids, alpha: 0.5 }),
    ]) {
      expect([answer.status, answer.body.data]).toEqual([200, whole.body.data]);
    }
    for (const [query, body, pointer] of [
      [{ question }, { question: 'Another?' }, '/question'],
      [{ question, alpha: '1' }, { alpha: 0.5 }, '/alpha'],
      [{ question, collection_ids: harbour }, { collection_ids: neighbouring }, '/collection_ids'],
    ] as const) {
      const { status, body: answer } = await calculate(query, body);
      expect([status, answer.error.errors[0].pointer]).toEqual([422, pointer]);
    }
  });

  it.each<[Record<string, string>, object | undefined, string]>([
    [{}, undefined, '/question'],
    [{ question: ' ' }, undefined, '/question'],
    [{ question: 'x'.repeat(4_001) }, undefined, '/question'],
    [{ question: 'x', alpha: 'NaN' }, undefined, '/alpha'],
    [{ question: 'x', alpha: '1e0' }, undefined, '/alpha'],
    [{ question: 'x', alpha: '2' }, undefined, '/alpha'],
    [{ question: 'x', alpha: '' }, undefined, '/alpha'],
    [{ question: 'x', collection_ids: 'x' }, undefined, '/collection_ids/0'],
    [{ question: 'x', collection_ids: ',' }, undefined, '/collection_ids/0'],
    [
      { question: 'x', collection_ids: Array.from({ length: 51 }, newId).join() },
      undefined,
      '/collection_ids',
    ],
    [{ question: 'x', space_id: 'x' }, undefined, '/space_id'],
    [{}, { question: 7 }, '/question'],
    [{}, { question: 'x', alpha: '0.5' }, '/alpha'],
    [{}, { question: 'x', collection_ids: ['x'] }, '/collection_ids'],
    [{}, { question: 'x', max_results: 3 }, '/max_results'],
  ])('refuses the query %j with the body %j at %s', async (query, body, pointer) => {
    const { status, body: answer } = await calculate(query, body);
    expect(status).toBe(422);
    expect(answer.error.errors[0].pointer).toBe(pointer);
  });

  it('holds nothing of a space that the caller may not search', async () => {
    const member = await addMember(database.unitOfWork, world);
    expect(filesOf(await calculate({ question }, undefined, member.apiKey))).toEqual(
      expect.not.arrayContaining(['next.md']),
    );
    for (const id of [neighbouring, foreign, newId()]) {
      const answer = await calculate(
        { question, collection_ids: `${harbour},${id}` },
        undefined,
        member.apiKey,
      );
      expect(refusalOf(answer)).toEqual([404, 'collection_not_found']);
    }
    const narrow = await addMember(database.unitOfWork, world, { keyPermissions: ['documents.read'] });
    const viewer = await addMember(database.unitOfWork, world, { spaceRole: 'space_viewer' });
    for (const { apiKey } of [narrow, viewer]) {
      for (const ids of ['', harbour, newId()]) {
        const answer = await calculate({ question, collection_ids: ids }, undefined, apiKey);
        expect(refusalOf(answer)).toEqual([403, 'missing_permission']);
        expect(answer.body.error.missing_permission).toBe('knowledge.search');
      }
    }
  });

  it('embeds the question once for all spaces, and records its tokens once', async () => {
    let calls = 0;
    embedders.before = () => {
      calls += 1;
    };
    const kind = (to: string) =>
      admin.query('update embedding_models set provider_kind = $2 where tenant_id = $1', [here.tenantId, to]);
    const used = async () =>
      (
        await admin.query(`select from embedding_usage where tenant_id = $1 and purpose = 'query'`, [
          here.tenantId,
        ])
      ).rowCount;
    await kind('openai');
    const before = await used();
    await calculate({ question });
    await kind('builtin');
    expect([calls, (await used())! - before!]).toEqual([1, 1]);
  });

  it('searches every space without collection_ids, however many they are', async () => {
    const many = await createWorld(database.unitOfWork);
    await admin.query(
      `with made as (insert into spaces (tenant_id, id, name)
         select $1, gen_random_uuid(), 'S' || n from generate_series(1, 21) n returning id)
       insert into collections (tenant_id, id, space_id, name, chunk_count, created_by)
       select $1, gen_random_uuid(), id, 'C', 1, $2 from made`,
      [many.tenantId, many.owner.principalId],
    );
    const { rows } = await admin.query<{ id: string; spaceId: string }>(
      'select id, space_id as "spaceId" from collections where tenant_id = $1 order by space_id desc limit 1',
      [many.tenantId],
    );
    const last = { ...here, ...many, spaceId: rows[0]!.spaceId };
    await add(last, rows[0]!.id, { filename: 'last.md', content: 'The beacon of Bergen is painted green.' });
    const answer = await calculate({ question }, undefined, many.apiKey);
    expect([answer.status, filesOf(answer)]).toEqual([200, ['last.md']]);
    expect(answer.body.data).toMatchObject({ mode: 'hybrid', reason: 'not_embedded', spaces_left_out: 0 });
  });
});
