import type { Client } from 'pg';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { run } from '../../bin/platform/program.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { openGateway, type Answer, type TestGateway } from '../support/gateway.ts';
import { ingest } from '../support/ingest.ts';
import { Maker } from '../support/places.ts';
import { connect } from '../support/tables.ts';
import { startRerankServer, type RerankServer } from '../support/wire-fakes/rerank-server.ts';
import { addMember, createWorld, type World } from '../support/world.ts';

let database: TestDatabase;
let gateway: TestGateway;
let admin: Client;
let server: RerankServer;
let world: World;
let other: World;
const maker = new Maker(() => gateway);

const question = 'Which colour is the beacon?';

beforeAll(async () => {
  database = await createTestDatabase();
  server = await startRerankServer();
  gateway = await openGateway(database, { EGRESS_ALLOW: server.origin });
  admin = await connect(database.adminUrl);
  world = await createWorld(database.unitOfWork);
  other = await createWorld(database.unitOfWork);
  for (const each of [world, other]) {
    const place = { ...each, modelAlias: '' };
    const collectionId = await maker.collection(place);
    for (let n = 0; n < 3; n += 1) {
      const documentId = await maker.document(place, collectionId);
      await ingest({ unitOfWork: database.unitOfWork }, { tenantId: each.tenantId, documentId });
      await admin.query(`update chunks set text = text || $2 where document_id = $1`, [
        documentId,
        ` Nr ${n}`,
      ]);
    }
  }
});
afterEach(() => {
  server.requests.length = 0;
  server.scripts.length = 0;
});
afterAll(async () => {
  await server?.stop();
  await admin?.end();
  await gateway?.close();
  await database?.drop();
});

const sendAs = (apiKey: string, method: string, path: string, sent?: object) =>
  gateway.send({ method, path: `/v1/${path}`, apiKey, ...(sent && { body: sent }) });
const send = (method: string, path: string, sent?: object) => sendAs(world.apiKey, method, path, sent);
const all = 'admin/reranking-models';
const ofSpace = (path = '', of = world) => `spaces/${of.spaceId}/reranking${path}`;

let count = 0;
const body = (more: object = {}) => {
  count += 1;
  return {
    alias: `judge-${count}`,
    provider_kind: 'cohere',
    provider_model: 'rerank-v3.5',
    base_url: server.baseUrl('cohere'),
    ...more,
  };
};
const madeAs = async (apiKey: string, more: object = {}): Promise<string> => {
  const answer = await sendAs(apiKey, 'POST', all, body(more));
  expect(answer.status, answer.text).toBe(201);
  return answer.body.data.id as string;
};
const made = (more: object = {}) => madeAs(world.apiKey, more);
const choose = async (more: object): Promise<Answer> => {
  const answer = await send('PUT', ofSpace(), more);
  expect(answer.status, answer.text).toBe(200);
  return answer;
};
const execute = async (more: object = {}, of = world): Promise<Answer> => {
  const answer = await sendAs(of.apiKey, 'POST', `spaces/${of.spaceId}/tools/knowledge_search/execute`, {
    query: question,
    ...more,
  });
  expect(answer.status, answer.text).toBe(200);
  return answer;
};

describe('reranking models', () => {
  it('are added with the defaults of their provider, read, listed newest first, and changed', async () => {
    const sent = body({ search_price: '2' });
    const added = await send('POST', all, sent);
    expect(added.status, added.text).toBe(201);
    const { data } = added.body;
    const { search_price: searchPrice, ...rest } = sent as typeof sent & { search_price: string };
    expect(data).toMatchObject({
      ...rest,
      credential_id: null,
      max_tokens: 4_096,
      score_scale: 'probability',
      price_usd_per_million: expect.stringMatching(/^0\.0+$/),
      price_usd_per_thousand_searches: expect.stringMatching(new RegExp(`^${searchPrice}\\.0+$`)),
      disabled_at: null,
    });
    expect((await send('GET', `${all}/${data.id}`)).body.data).toEqual(data);
    expect((await send('GET', all)).body.data[0]).toEqual(data);
    const changed = await send('PATCH', `${all}/${data.id}`, {
      price: '0.03',
      score_scale: 'logit',
      max_tokens: 100,
      disabled: true,
    });
    expect(changed.body.data).toMatchObject({
      price_usd_per_million: expect.stringMatching(/^0\.03/),
      score_scale: 'logit',
      max_tokens: 100,
      disabled_at: expect.any(String),
    });
    expect((await send('PATCH', `${all}/${data.id}`, { disabled: false })).body.data.disabled_at).toBeNull();
    const third = await send(
      'POST',
      all,
      body({ provider_kind: 'jina', provider_model: 'jina-reranker-v3' }),
    );
    expect(third.body.data.score_scale).toBe('cosine');
  });

  const refusals: [what: string, more: object, field: string, code?: string][] = [
    [
      'no address for a server like Cohere’s',
      { provider_kind: 'rerank_compatible', base_url: null },
      'base_url',
    ],
    ['an address that is none', { base_url: 'words' }, 'base_url'],
    ['an address with a key', { base_url: 'https://a:b@c.example' }, 'base_url'],
    ['too few tokens', { max_tokens: 63 }, 'max_tokens'],
    [
      'a price that is no number',
      { search_price: 'cheap' },
      'search_price must be dollars per thousand searches',
    ],
    ['another scale', { score_scale: 'percent' }, 'score_scale'],
    ['another provider', { provider_kind: 'openai' }, 'provider_kind'],
    ['an unknown field', { dims: 8 }, 'dims', 'unknown_parameter'],
  ];
  it.each(refusals)('are refused with %s', async (_what, more, field, code = 'invalid_request') => {
    const answer = await send('POST', all, body(more));
    expect([answer.status, answer.body.error.code]).toEqual([422, code]);
    expect(answer.text).toContain(field);
  });

  it('have an alias each, and keep it', async () => {
    const sent = body();
    const { id } = (await send('POST', all, sent)).body.data;
    const again = await send('POST', all, sent);
    expect([again.status, again.body.error.code]).toEqual([409, 'already_exists']);
    for (const field of ['alias', 'provider_kind', 'provider_model']) {
      const answer = await send('PATCH', `${all}/${id}`, { [field]: 'cohere' });
      expect([answer.status, answer.body.error.code]).toEqual([422, 'unknown_parameter']);
    }
  });
});

describe('the reranking of a space', () => {
  it('is chosen, repeated, changed and cleared, with an event for each change', async () => {
    const none = { model: null, by_default: false, chosen_at: null };
    expect((await send('GET', ofSpace())).body.data).toEqual(none);
    const [one, two] = [await made(), await made()];
    const events = async () => {
      const { rows } = await admin.query(
        `select count(*)::int as n from events where tenant_id = $1 and event_type = 'space.updated'`,
        [world.tenantId],
      );
      return rows[0].n as number;
    };
    const before = await events();
    const chosen = await choose({ model_id: one });
    expect(chosen.body.data).toMatchObject({ model: { id: one, disabled_at: null }, by_default: true });
    expect((await choose({ model_id: one })).body).toEqual(chosen.body);
    expect((await choose({ model_id: one, by_default: false })).body.data.by_default).toBe(false);
    expect((await choose({ model_id: two })).body.data).toMatchObject({
      model: { id: two },
      by_default: true,
    });
    expect((await send('GET', ofSpace())).body.data.model.id).toBe(two);
    expect((await choose({ model_id: null })).body.data).toEqual(none);
    expect((await choose({ model_id: null })).body.data).toEqual(none);
    expect((await events()) - before).toBe(4);
  });

  it('takes no disabled model, and no unknown field', async () => {
    const id = await made();
    await send('PATCH', `${all}/${id}`, { disabled: true });
    const tries: [object, string][] = [
      [{ model_id: id }, 'invalid_request'],
      [{ model_id: await made(), force: true }, 'unknown_parameter'],
      [{}, 'invalid_request'],
    ];
    for (const [sent, code] of tries) {
      const answer = await send('PUT', ofSpace(), sent);
      expect([answer.status, answer.body.error.code]).toEqual([422, code]);
    }
    expect((await send('GET', ofSpace())).body.data.model).toBeNull();
  });

  it('takes one of two first choices that are made at once', async () => {
    const ids = [await made(), await made()];
    const answers = await Promise.all(ids.map((id) => send('PUT', ofSpace(), { model_id: id })));
    expect(answers.map(({ status }) => status)).toEqual([200, 200]);
    expect(ids).toContain((await send('GET', ofSpace())).body.data.model.id);
    await choose({ model_id: null });
  });
});

describe('a search', () => {
  it('is reranked with the sealed key of the tenant, and its usage is in the ledger', async () => {
    const key = 'tk-wombat-7712';
    const credential = await send('POST', 'admin/credentials', {
      name: 'judge',
      kind: 'bearer',
      origin: server.origin,
      value: { token: key },
    });
    expect(credential.status, credential.text).toBe(201);
    const { id: credentialId } = credential.body.data;
    const id = await made({ credential_id: credentialId, search_price: '2' });
    await choose({ model_id: id });
    server.judge = (_query, text) => Number(/Nr (\d)/.exec(text)?.[1]) / 10;
    const { data } = (await execute()).body;
    expect(data.reranking).toEqual({ model_id: id, reason: null });
    expect(data.results.map(({ score }: { score: number }) => score)).toEqual([0.2, 0.1, 0]);
    for (const { score, rerank_score: rerank, keyword_score: keyword } of data.results) {
      expect(rerank).toBe(score);
      expect(keyword).toBeGreaterThan(0);
    }
    expect(data.context.text).toMatch(/Nr 2[^]+Nr 1[^]+Nr 0/);
    expect(server.requests).toHaveLength(1);
    expect(server.requests[0]).toMatchObject({ refusal: null, headers: { authorization: `Bearer ${key}` } });
    const usage = await send('GET', ofSpace('/usage'));
    expect(usage.body.data).toMatchObject([
      { model: { id }, searches: 1, passages: 3, tokens: expect.any(Number), cost_usd: '0.002000' },
    ]);
    expect(usage.body.data[0].tokens).toBeGreaterThan(0);
    const refused = await send('DELETE', `admin/credentials/${credentialId}`);
    expect([refused.status, refused.body.error.used_by]).toEqual([
      409,
      [{ type: 'model', id, name: expect.any(String) }],
    ]);
  });

  it('takes its own wish, and says why it is not reranked', async () => {
    const { results: plain, reranking } = (await execute({ rerank: false })).body.data;
    expect(reranking).toEqual({ model_id: null, reason: 'not_requested' });
    expect(plain.map((each: { rerank_score: number | null }) => each.rerank_score)).toEqual([
      null,
      null,
      null,
    ]);
    server.scripts.push('duplicate_index');
    const { data } = (await execute({ rerank: true })).body;
    expect(data).toMatchObject({
      mode: 'keyword',
      reranking: { model_id: null, reason: 'reranker_malformed' },
      results: plain,
    });
    vi.stubEnv('PLATFORM_URL', await gateway.app.listen({ host: '127.0.0.1', port: 0 }));
    vi.stubEnv('PLATFORM_API_KEY', world.apiKey);
    const ask = async (...more: string[]) => {
      let said = '';
      const add = (part: string) => void (said += part);
      await run(['knowledge', 'search', question, '--space', world.spaceId, ...more], { out: add, err: add });
      return said;
    };
    expect(await ask('--no-rerank')).toMatch(
      /^mode[^]+reranking: +not_requested\n\n\[1\] [\d.]+ \(keyword [\d.]+, vector -\) /,
    );
    const { id } = (await send('GET', ofSpace())).body.data.model;
    expect(await ask('--rerank')).toMatch(
      new RegExp(`reranking: +${id}\n\n\\[1\\] 0\\.2 \\(keyword [\\d.]+, vector -, rerank 0\\.2\\) `),
    );
    vi.unstubAllEnvs();
    server.scripts.push({ status: 401, body: { message: 'invalid api token tk-wombat-7712' } });
    const denied = await execute();
    expect(denied.body.data.reranking.reason).toBe('reranker_refused');
    expect(denied.text).not.toContain('wombat');
  });

  it('of several spaces is reranked by the model of each', async () => {
    const answer = await send('POST', 'knowledge/calculate_context', { question });
    expect(answer.status, answer.text).toBe(200);
    const { reranking, results } = answer.body.data;
    expect(reranking).toMatchObject({ model_id: expect.any(String), reason: null });
    expect(results.map((each: { rerank_score: number }) => each.rerank_score)).toEqual([0.2, 0.1, 0]);
  });

  it('is in its own order from the moment on at which the model in use is withdrawn', async () => {
    const { id } = (await send('GET', ofSpace())).body.data.model;
    await send('PATCH', `${all}/${id}`, { disabled: true });
    expect((await execute()).body.data.reranking).toEqual({ model_id: null, reason: 'model_disabled' });
    expect(server.requests).toEqual([]);
    expect((await send('GET', ofSpace())).body.data.model).toMatchObject({
      id,
      disabled_at: expect.any(String),
    });
    await send('PATCH', `${all}/${id}`, { disabled: false });
    expect((await execute()).body.data.reranking).toEqual({ model_id: id, reason: null });
  });

  it('waits for its model outside the places of searches', async () => {
    server.scripts.push(...Array.from({ length: 8 }, () => 'silence' as const));
    const waiting = Array.from({ length: 8 }, () => execute());
    await expect.poll(() => server.requests.length, { timeout: 5_000 }).toBe(8);
    const since = performance.now();
    expect((await execute({ rerank: false })).body.data.results).toHaveLength(3);
    expect(performance.now() - since).toBeLessThan(1_500);
    for (const { body: late } of await Promise.all(waiting)) {
      expect(late.data.reranking.reason).toBe('reranker_unavailable');
      expect(late.data.results).toHaveLength(3);
    }
  }, 20_000);
});

describe('the search of a response', () => {
  it.each([true, false, undefined])('is offered with its wish (%s) of the request', async (rerank) => {
    const tool = { type: 'knowledge_search', ...(rerank === undefined ? {} : { rerank }) };
    const answer = await send('POST', `spaces/${world.spaceId}/responses`, {
      input: { text: question },
      tools: [tool],
    });
    expect(answer.status, answer.text).toBe(202);
    const { rows } = await admin.query(`select request->'tools' as tools from responses where id = $1`, [
      answer.body.id ?? answer.body.data.id,
    ]);
    expect(rows[0].tools).toMatchObject([tool]);
    expect('rerank' in rows[0].tools[0]).toBe(rerank !== undefined);
  });
});

describe('another caller', () => {
  it.each([
    ['POST', all, () => body(), 'models.manage'],
    ['GET', all, () => undefined, 'models.read'],
    ['GET', 'own', () => undefined, 'models.read'],
    ['PATCH', 'own', () => ({ price: '1' }), 'models.manage'],
    ['GET', 'space', () => undefined, 'collections.read'],
    ['GET', 'space/usage', () => undefined, 'usage.read'],
    ['PUT', 'space', (id: string) => ({ model_id: id }), 'spaces.manage_models'],
  ] as const)('%s %s without the permission is refused by its name', async (method, path, sent, needed) => {
    const id = await made();
    const member = await addMember(database.unitOfWork, world, {
      tenantRoles: ['owner'],
      keyPermissions: ['threads.read'],
    });
    const place = path === 'own' ? `${all}/${id}` : path.replace(/^space/, ofSpace());
    const answer = await sendAs(member.apiKey, method, place, sent(id));
    expect([answer.status, answer.body.error.code]).toEqual([403, 'missing_permission']);
    expect(answer.text).toContain(needed);
  });

  it('of another tenant finds no model and no space, and its searches use no model of this one', async () => {
    const id = await made();
    const theirs = await madeAs(other.apiKey);
    const tries: [string, string, object?][] = [
      ['GET', `${all}/${id}`],
      ['PATCH', `${all}/${id}`, { price: '1' }],
      ['PUT', ofSpace('', other), { model_id: id }],
      ['GET', ofSpace()],
      ['GET', ofSpace('/usage')],
      ['PUT', ofSpace(), { model_id: theirs }],
    ];
    for (const [method, path, sent] of tries) {
      const answer = await sendAs(other.apiKey, method, path, sent);
      expect([answer.status, path, answer.body.error.code]).toEqual([
        404,
        path,
        path.startsWith(ofSpace()) ? 'space_not_found' : 'model_not_found',
      ]);
    }
    // Not even by the database.
    await expect(
      admin.query(`insert into space_reranking (tenant_id, space_id, model_id) values ($1, $2, $3)`, [
        other.tenantId,
        other.spaceId,
        id,
      ]),
    ).rejects.toMatchObject({ code: '23503' });
    expect((await execute({}, other)).body.data.reranking.reason).toBe('not_chosen');
    expect(server.requests).toEqual([]);
    expect((await sendAs(other.apiKey, 'GET', ofSpace('/usage', other))).body.data).toEqual([]);
  });
});
