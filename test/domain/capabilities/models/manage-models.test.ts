import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Context } from '#domain/foundation/access/context.ts';
import { permissions, type Permission } from '#domain/foundation/access/permissions.ts';
import { disableModel } from '#domain/capabilities/models/disable-model.ts';
import { importPrices } from '#domain/capabilities/models/import-prices.ts';
import { listModels } from '#domain/capabilities/models/list-models.ts';
import { listPrices } from '#domain/capabilities/models/list-prices.ts';
import { toPriceUsd } from '#domain/capabilities/models/pricing.ts';
import { registerModel, type RegisterModel } from '#domain/capabilities/models/register-model.ts';
import { setPrice } from '#domain/capabilities/models/set-price.ts';
import { updateModel } from '#domain/capabilities/models/update-model.ts';
import { setSpaceModels } from '#domain/workspace/spaces/set-space-models.ts';
import { openEngine, type Engine } from '../../../support/engine.ts';

let engine: Engine;
beforeAll(async () => {
  engine = await openEngine();
});
afterAll(() => engine.stop());

const everything = { granted: new Set(permissions) };
const act = <T>(work: (ctx: Context) => Promise<T>) => engine.act(work, everything);

const claude = (alias: string): RegisterModel => ({
  alias,
  providerKind: 'anthropic',
  providerModel: 'claude-sonnet-4-5',
  credentialRef: 'ANTHROPIC_API_KEY',
  price: { input: '3', cachedInput: '0.3', output: '15' },
});

const eventsOf = async (id: string) =>
  (
    await engine.admin.query<{ event_type: string; metadata: Record<string, string> }>(
      'select event_type, metadata from events where resource_id = $1 order by id',
      [id],
    )
  ).rows;

describe('administering models', () => {
  it("registers a model with its provider's defaults and its first price, and writes its event", async () => {
    const { model } = await act((ctx) => registerModel(ctx, claude('claude')));
    expect(model).toMatchObject({
      continuation: 'instruct',
      supportsReasoning: true,
      inputModalities: ['text', 'image', 'file'],
      contextWindow: 200_000,
    });
    const { model: older } = await act((ctx) =>
      registerModel(ctx, { ...claude('older'), providerModel: 'claude-3-5-haiku', supportsReasoning: false }),
    );
    expect(older.continuation).toBe('prefill');
    expect((await eventsOf(model.id)).map((event) => event.event_type)).toEqual(['system.model_added']);
    await expect(act((ctx) => registerModel(ctx, claude('claude')))).rejects.toMatchObject({
      code: 'already_exists',
    });
  });

  const refused: [change: Partial<RegisterModel>, param: string][] = [
    [{ alias: 'two words' }, 'alias'],
    [{ credentialRef: 'not-a-variable' }, 'credential_ref'],
    [{ baseUrl: 'https://user:word@vendor.test/v1' }, 'base_url'],
    [{ providerKind: 'openai_compatible' }, 'base_url'],
    [{ continuation: 'replay' }, 'continuation'],
    [{ continuation: 'reattach' }, 'continuation'],
    [{ inputModalities: ['image'] }, 'input_modalities'],
    [{ contextWindow: 0 }, 'context_window'],
    [{ price: { input: '1e3', output: '2' } }, 'price.input'],
  ];
  it.each(refused)('refuses %j', async (change, param) => {
    await expect(act((ctx) => registerModel(ctx, { ...claude('other'), ...change }))).rejects.toMatchObject({
      code: 'invalid_request',
      detail: { param },
    });
  });

  it('changes what is given and nothing else', async () => {
    const {
      model: { id },
    } = await act((ctx) => registerModel(ctx, claude('changed')));
    await act((ctx) => updateModel(ctx, { alias: 'changed', contextWindow: 1_000, credentialRef: null }));
    const { items } = await act((ctx) => listModels(ctx, { limit: 50, cursor: null }));
    const found = items.find(({ model }) => model.id === id)!;
    expect(found.model).toMatchObject({ contextWindow: 1_000, credentialRef: null, maxOutputTokens: 8_192 });
    expect(toPriceUsd(found.price)).toEqual({
      input: '3.000000',
      cachedInput: '0.300000',
      output: '15.000000',
    });
    const notified = (await eventsOf(id)).at(-1)!;
    expect(notified).toMatchObject({ event_type: 'system.model_updated' });
    expect(notified.metadata.changed_fields).toEqual(['credentialRef', 'contextWindow']);
  });

  it('a disabled model takes no new response until it is enabled again', async () => {
    const {
      model: { id },
    } = await act((ctx) => registerModel(ctx, claude('withdrawn')));
    await act((ctx) => setSpaceModels(ctx, { models: ['paid', 'withdrawn'], defaultModel: 'paid' }));
    await engine.create({ modelAlias: 'withdrawn' });
    await act((ctx) => disableModel(ctx, { alias: 'withdrawn', disabled: true }));
    await expect(engine.create({ modelAlias: 'withdrawn' })).rejects.toMatchObject({
      code: 'model_not_allowed',
    });
    await act((ctx) => disableModel(ctx, { alias: 'withdrawn', disabled: false }));
    await engine.create({ modelAlias: 'withdrawn' });
    expect((await eventsOf(id)).map((event) => event.event_type)).toEqual([
      'system.model_added',
      'system.model_removed',
      'system.model_updated',
    ]);
  });

  it('a space allows exactly the models that were set, and its default is one of them', async () => {
    await act((ctx) => registerModel(ctx, claude('allowed')));
    await act((ctx) => setSpaceModels(ctx, { models: ['allowed'], defaultModel: 'allowed' }));
    await expect(engine.create({ modelAlias: 'paid' })).rejects.toMatchObject({ code: 'model_not_allowed' });
    await act((ctx) => setSpaceModels(ctx, { models: ['paid', 'allowed'], defaultModel: 'paid' }));
    expect((await engine.record(await engine.create())).model_alias).toBe('paid');
    for (const [input, code] of [
      [{ models: ['nobody'], defaultModel: 'nobody' }, 'model_not_found'],
      [{ models: ['paid'], defaultModel: 'allowed' }, 'invalid_request'],
    ] as const) {
      await expect(
        act((ctx) => setSpaceModels(ctx, { ...input, models: [...input.models] })),
      ).rejects.toMatchObject({ code });
    }
  });

  it('a price is in force from its time on, and earlier prices are kept', async () => {
    await act((ctx) => registerModel(ctx, claude('priced')));
    await act((ctx) => setPrice(ctx, { alias: 'priced', price: { input: '2', output: '10' } }));
    const later = new Date(Date.now() + 86_400_000);
    await act((ctx) =>
      setPrice(ctx, { alias: 'priced', price: { input: '1', output: '5' }, validFrom: later }),
    );
    const prices = await act((ctx) => listPrices(ctx, { alias: 'priced' }));
    expect(prices.map((price) => toPriceUsd(price).input)).toEqual(['1.000000', '2.000000', '3.000000']);
    const { items } = await act((ctx) => listModels(ctx, { limit: 50, cursor: null }));
    expect(toPriceUsd(items.find(({ model }) => model.alias === 'priced')!.price).input).toBe('2.000000');
    const past = act((ctx) =>
      setPrice(ctx, { alias: 'priced', price: { input: '1', output: '5' }, validFrom: new Date(0) }),
    );
    await expect(past).rejects.toMatchObject({ detail: { param: 'valid_from' } });
  });
});

describe('importing prices', () => {
  const modelsDev = {
    anthropic: {
      id: 'anthropic',
      models: {
        'claude-sonnet-4-5': { cost: { input: 3.3, output: 16.5, cache_read: 0.33 } },
        'claude-3-5-haiku': { name: 'no price' },
      },
    },
    elsewhere: { models: { paid: { cost: { input: 9, output: 9 } } } },
    local: { api: 'http://127.0.0.1:9/v1', models: { paid: { cost: { input: 0.1, output: 0.7 } } } },
  };

  it('writes what is new, leaves what is the same, and reports both', async () => {
    const dry = await act((ctx) => importPrices(ctx, { document: modelsDev, dryRun: true }));
    const first = await act((ctx) => importPrices(ctx, { document: modelsDev }));
    expect(dry).toEqual(first);
    const imported = new Map(first.imported.map(({ alias, price }) => [alias, toPriceUsd(price)]));
    expect(imported.get('claude')).toEqual({
      input: '3.300000',
      cachedInput: '0.330000',
      output: '16.500000',
    });
    expect(imported.get('paid')).toEqual({ input: '0.100000', cachedInput: '0.100000', output: '0.700000' });
    expect(first.skipped).toContainEqual({
      alias: 'older',
      providerModel: 'claude-3-5-haiku',
      reason: 'no_exact_price',
    });
    const again = await act((ctx) => importPrices(ctx, { document: modelsDev }));
    expect(again.imported).toEqual([]);
    expect(again.skipped.find(({ alias }) => alias === 'claude')?.reason).toBe('unchanged');
    expect((await act((ctx) => listPrices(ctx, { alias: 'claude' }))).length).toBe(2);
  });

  it('reads prices per token exactly, where binary arithmetic would round', async () => {
    const document = {
      sample_spec: { litellm_provider: 'one of', input_cost_per_token: 0 },
      'claude-sonnet-4-5': {
        litellm_provider: 'anthropic',
        input_cost_per_token: 3.3e-6,
        cache_read_input_token_cost: 1.1e-7,
        output_cost_per_token: 0.0000165,
      },
    };
    const { imported } = await act((ctx) => importPrices(ctx, { document }));
    expect(toPriceUsd(imported[0]!.price)).toEqual({
      input: '3.300000',
      cachedInput: '0.110000',
      output: '16.500000',
    });
  });

  it.each([1e6, 1e13, 1e300])('refuses a price of %d dollars, which exceeds the column', async (output) => {
    const document = { anthropic: { models: { 'claude-sonnet-4-5': { cost: { input: 1, output } } } } };
    const { imported, skipped } = await act((ctx) => importPrices(ctx, { document }));
    expect(imported).toEqual([]);
    expect(skipped.find(({ alias }) => alias === 'claude')?.reason).toBe('no_exact_price');
  });

  it.each([[null], [{}], [[1]], [{ a: 1 }]])('refuses %j, which is no price file', async (document) => {
    await expect(act((ctx) => importPrices(ctx, { document }))).rejects.toMatchObject({
      detail: { param: 'document' },
    });
  });
});

describe('each use case', () => {
  const cases: [name: string, permission: Permission, run: (ctx: Context) => Promise<unknown>][] = [
    ['registerModel', 'models.manage', (ctx) => registerModel(ctx, claude('unseen'))],
    ['updateModel', 'models.manage', (ctx) => updateModel(ctx, { alias: 'claude' })],
    ['disableModel', 'models.manage', (ctx) => disableModel(ctx, { alias: 'claude', disabled: true })],
    ['listModels', 'models.read', (ctx) => listModels(ctx, { limit: 1, cursor: null })],
    ['listPrices', 'models.read', (ctx) => listPrices(ctx, { alias: 'claude' })],
    [
      'setPrice',
      'prices.manage',
      (ctx) => setPrice(ctx, { alias: 'claude', price: { input: '1', output: '1' } }),
    ],
    ['importPrices', 'prices.manage', (ctx) => importPrices(ctx, { document: {} })],
    [
      'setSpaceModels',
      'spaces.manage_models',
      (ctx) => setSpaceModels(ctx, { models: ['paid'], defaultModel: 'paid' }),
    ],
  ];
  it.each(cases)('%s asks for %s', async (_name, permission, run) => {
    const granted = new Set(permissions.filter((each) => each !== permission));
    await expect(engine.act(run, { granted })).rejects.toMatchObject({
      code: 'missing_permission',
      detail: { missingPermission: permission },
    });
  });
});
