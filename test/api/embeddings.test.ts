import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { connect } from '../support/tables.ts';
import { openGateway, type TestGateway } from '../support/gateway.ts';
import { addMember, createWorld, type World } from '../support/world.ts';

let database: TestDatabase;
let gateway: TestGateway;
let world: World;
let other: World;

beforeAll(async () => {
  database = await createTestDatabase();
  gateway = await openGateway(database);
  world = await createWorld(database.unitOfWork);
  other = await createWorld(database.unitOfWork);
});
afterAll(async () => {
  await gateway?.close();
  await database?.drop();
});

const sendAs = (apiKey: string, method: string, path: string, sent?: object) =>
  gateway.send({ method, path: `/v1/${path}`, apiKey, ...(sent && { body: sent }) });
const send = (method: string, path: string, sent?: object) => sendAs(world.apiKey, method, path, sent);
const all = 'admin/embedding-models';
const ofSpace = (path = '') => `spaces/${world.spaceId}/embedding${path}`;

let count = 0;
const body = (more: object = {}) => {
  count += 1;
  return {
    alias: `words-${count}`,
    provider_kind: 'openai',
    provider_model: 'text-embedding-3-small',
    ...more,
  };
};
const made = async (more: object = {}): Promise<string> => {
  const answer = await send('POST', all, body(more));
  expect(answer.status, answer.text).toBe(201);
  return answer.body.data.id as string;
};
const builtinOf = async (apiKey = world.apiKey): Promise<string> => {
  const { body: listed } = await sendAs(apiKey, 'GET', `${all}?limit=100`);
  return listed.data.find(({ alias }: { alias: string }) => alias === 'builtin').id;
};
const compatible = { provider_kind: 'openai_compatible', base_url: 'https://words.example.com/v1' };

describe('embedding models', () => {
  it('are added with the defaults of their provider, read, listed newest first, and changed', async () => {
    const sent = body({ query_prefix: 'query: ', passage_prefix: 'passage: ' });
    const added = await send('POST', all, { ...sent, price: '0.02' });
    expect(added.status, added.text).toBe(201);
    const { data } = added.body;
    expect(data).toMatchObject({
      ...sent,
      base_url: null,
      credential_id: null,
      dims: 1_536,
      max_tokens: 8_191,
      price_usd_per_million: expect.stringMatching(/^0\.02/),
      disabled_at: null,
    });
    expect((await send('GET', `${all}/${data.id}`)).body.data).toEqual(data);
    const { body: listed } = await send('GET', all);
    expect(listed.data[0]).toEqual(data);
    expect(listed.data.at(-1)).toMatchObject({ alias: 'builtin', provider_kind: 'builtin', dims: 384 });
    const changed = await send('PATCH', `${all}/${data.id}`, { price: '0.03', disabled: true });
    expect(changed.body.data).toMatchObject({
      price_usd_per_million: expect.stringMatching(/^0\.03/),
      disabled_at: expect.any(String),
    });
    expect((await send('PATCH', `${all}/${data.id}`, { disabled: false })).body.data.disabled_at).toBeNull();
  });

  const refusals: [what: string, more: object, field: string, code?: string][] = [
    ['dims that a compatible server has no default for', compatible, 'dims'],
    ['too many dims', { dims: 4_097 }, 'dims'],
    ['a price that is no number', { price: 'cheap' }, 'price'],
    ['a negative price', { price: '-1' }, 'price'],
    ['a price with too many digits', { price: '0.0000001' }, 'price'],
    ['an address that is none', { ...compatible, dims: 8, base_url: 'words' }, 'base_url'],
    ['an unknown field', { pooling: 'cls' }, 'pooling', 'unknown_parameter'],
  ];
  it.each(refusals)('are refused with %s', async (_what, more, field, code = 'invalid_request') => {
    const answer = await send('POST', all, body(more));
    expect([answer.status, answer.body.error.code]).toEqual([422, code]);
    expect(answer.text).toContain(field);
  });

  it('have an alias each', async () => {
    const sent = body();
    expect((await send('POST', all, sent)).status).toBe(201);
    const again = await send('POST', all, sent);
    expect([again.status, again.body.error.code]).toEqual([409, 'already_exists']);
  });

  it('that are builtin can be disabled, and nothing else', async () => {
    const id = await builtinOf();
    for (const change of [
      { price: '1' },
      { max_tokens: 128 },
      { base_url: 'https://words.example.com/v1' },
    ]) {
      const answer = await send('PATCH', `${all}/${id}`, change);
      expect([answer.status, answer.body.error.code]).toEqual([409, 'invalid_state']);
    }
    expect((await send('PATCH', `${all}/${id}`, { disabled: true })).status).toBe(200);
    expect((await send('PATCH', `${all}/${id}`, { disabled: false })).status).toBe(200);
  });

  it('keep what vectors depend on', async () => {
    const id = await made();
    for (const field of ['dims', 'provider_model', 'query_prefix', 'alias']) {
      const answer = await send('PATCH', `${all}/${id}`, { [field]: 'x' });
      expect([answer.status, answer.body.error.code]).toEqual([422, 'unknown_parameter']);
    }
  });

  it('keep the credential that they use from being deleted, by their name', async () => {
    const credential = await send('POST', 'admin/credentials', {
      name: 'words',
      kind: 'bearer',
      origin: 'https://words.example.com',
      value: { token: 'tk-wombat-4411' },
    });
    expect(credential.status, credential.text).toBe(201);
    const { id: credentialId } = credential.body.data;
    const id = await made({ ...compatible, dims: 8, credential_id: credentialId });
    const refused = await send('DELETE', `admin/credentials/${credentialId}`);
    expect([refused.status, refused.body.error.code]).toEqual([409, 'credential_in_use']);
    expect(refused.body.error.used_by).toEqual([{ type: 'model', id, name: `words-${count}` }]);
    await send('PATCH', `${all}/${id}`, { credential_id: null });
    expect((await send('DELETE', `admin/credentials/${credentialId}`)).status).toBe(200);
  });
});

describe('the embedding of a space', () => {
  it('is changed and cancelled; a repeat changes nothing, and a second change is refused', async () => {
    expect((await send('GET', ofSpace())).body.data).toEqual({
      model: null,
      generation: null,
      active_since: null,
      pending_documents: 0,
      last_error: null,
      change: null,
    });
    const [one, two] = [await made(), await made()];
    const begun = await send('PUT', ofSpace(), { model_id: one });
    expect(begun.status, begun.text).toBe(202);
    expect(begun.body.data.change).toMatchObject({
      model: { id: one, dims: 1_536 },
      documents_done: 0,
      documents_total: 0,
      last_error: null,
    });
    const repeated = await send('PUT', ofSpace(), { model_id: one });
    expect([repeated.status, repeated.body]).toEqual([202, begun.body]);
    const second = await send('PUT', ofSpace(), { model_id: two });
    expect([second.status, second.body.error.code]).toEqual([409, 'invalid_state']);
    const cancelled = await send('POST', ofSpace('/cancel'));
    expect([cancelled.status, cancelled.body.data.change]).toEqual([200, null]);
    expect((await send('POST', ofSpace('/cancel'))).status).toBe(200);
    expect((await send('PUT', ofSpace(), { model_id: two })).status).toBe(202);
    await send('POST', ofSpace('/cancel'));
    const sent = gateway.dispatched.find(({ workflowType }) => workflowType === 'embedSpace');
    expect(sent).toMatchObject({ workflowId: `embeddings/${world.tenantId}/${world.spaceId}` });
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
    expect((await send('GET', ofSpace())).body.data.change).toBeNull();
  });
});

describe('the embedding usage of a space', () => {
  it('is listed by day and model, newest first, with the cost of models that have a price', async () => {
    const free = await builtinOf();
    const paid = await made({ price: '0.02' });
    const admin = await connect(database.adminUrl);
    const use = (model: string, age: string, texts: number | null, purpose = 'passages') =>
      admin.query(
        `insert into embedding_usage (tenant_id, id, space_id, model_id, purpose, texts, input_tokens, cost_pico_usd, created_at)
         select $1, gen_random_uuid(), $2, $3, $4, $5, 1000, case when alias = 'builtin' then 0 else 20000000 end, now() - $6::interval
         from embedding_models where id = $3`,
        [world.tenantId, world.spaceId, model, purpose, texts, age],
      );
    const dayBefore = (days: number) => new Date(Date.now() - days * 86_400_000).toISOString().slice(0, 10);
    await use(paid, '0', 64);
    await use(paid, '0', 96, 'calibration');
    // Of the version before, which counted no texts.
    await use(paid, '0', null, 'query');
    await use(paid, '0', null);
    await use(free, '0', 3);
    await use(paid, '2 days', 5);
    await use(paid, '40 days', 5);
    await admin.end();
    const { id: paidId, alias } = (await send('GET', `${all}/${paid}`)).body.data;
    const today = { day: dayBefore(0), tokens: 4_000, texts: 161, cost_usd: '0.000080' };
    const builtin = {
      day: dayBefore(0),
      model: { id: free, alias: 'builtin' },
      texts: 3,
      tokens: 1_000,
      cost_usd: null,
    };
    const before = { day: dayBefore(2), tokens: 1_000, texts: 5, cost_usd: '0.000020' };
    const listed = await send('GET', ofSpace('/usage'));
    expect(listed.status, listed.text).toBe(200);
    const ofPaid = { model: { id: paidId, alias } };
    const first = [{ ...today, ...ofPaid }, builtin].sort((a, b) => (a.model.id < b.model.id ? 1 : -1));
    const everything = [...first, { ...before, ...ofPaid }];
    expect(listed.body.data).toEqual(everything);
    const paged: unknown[] = [];
    for (let cursor: string | null = ''; cursor !== null;) {
      const page = await send('GET', ofSpace(`/usage?limit=1${cursor && `&cursor=${cursor}`}`));
      paged.push(...page.body.data);
      cursor = page.body.meta.next_cursor;
    }
    expect(paged).toEqual(everything);
    expect((await send('GET', ofSpace('/usage?days=1'))).body.data).toEqual(first);
    const abroad = await sendAs(other.apiKey, 'GET', `spaces/${other.spaceId}/embedding/usage`);
    expect(abroad.body.data).toEqual([]);
  });

  it.each(['0', '32', '1.5', 'x'])('takes no %s days', async (days) => {
    const answer = await send('GET', ofSpace(`/usage?days=${days}`));
    expect([answer.status, answer.body.error.errors[0].pointer]).toEqual([422, '/days']);
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
    ['POST', 'space/cancel', () => undefined, 'spaces.manage_models'],
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

  it('of another tenant finds no model and no space', async () => {
    const id = await made();
    const tries: [string, string, object?][] = [
      ['GET', `${all}/${id}`],
      ['PATCH', `${all}/${id}`, { price: '1' }],
      ['PUT', `spaces/${other.spaceId}/embedding`, { model_id: id }],
      ['GET', ofSpace()],
      ['GET', ofSpace('/usage')],
      ['PUT', ofSpace(), { model_id: await builtinOf(other.apiKey) }],
      ['POST', ofSpace('/cancel')],
    ];
    for (const [method, path, sent] of tries) {
      const answer = await sendAs(other.apiKey, method, path, sent);
      expect([answer.status, path, answer.body.error.code]).toEqual([
        404,
        path,
        path.startsWith(ofSpace()) ? 'space_not_found' : 'model_not_found',
      ]);
    }
  });
});
