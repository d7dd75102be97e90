import { newId } from '#domain/foundation/kernel/ids.ts';
import type { Call } from './gateway.ts';
import type { IdFixture } from './id-fixtures.ts';
import { type Maker, type Place } from './places.ts';
import type { ProcedureFixture } from './procedure-fixtures.ts';
import { callAt, newKey, someCursor, spaceFixtures } from './space-fixtures.ts';

/** New each time: an alias is unique. */
export const embeddingModelBody = () => ({
  alias: `embedding-${newId()}`,
  provider_kind: 'openai',
  provider_model: 'text-embedding-3-small',
  price: '0.02',
});

const words = ['alias', 'provider_model', 'base_url', 'price', 'query_prefix', 'passage_prefix'];

/** Free text of operations that contains no id. */
export const embeddingText = [
  ...words.map((word) => `addEmbeddingModel body ${word}`),
  ...['base_url', 'price'].map((word) => `updateEmbeddingModel body ${word}`),
];

/** The same of procedures. */
export const embeddingProcedureText = [
  ...words.map((word) => `embeddingModels.add ${word}`),
  ...['base_url', 'price'].map((word) => `embeddingModels.update ${word}`),
];

const admin = (place: Place, method: string, path: string, more: Partial<Call> = {}): Call => ({
  method,
  path: `/v1/admin/${path}`,
  apiKey: place.apiKey,
  ...more,
});

/** Operations that hold no id, right in everything. */
export const plainEmbeddingCalls: Record<string, (place: Place) => Call> = {
  addEmbeddingModel: (place) => admin(place, 'POST', 'embedding-models', { body: embeddingModelBody() }),
  listEmbeddingModels: (place) => admin(place, 'GET', 'embedding-models'),
};

export function embeddingFixtures(maker: Maker): Record<string, IdFixture> {
  const { spaceOf, cursorOf } = spaceFixtures(maker);
  const ofTenant = {
    make: (place: Place) => maker.embeddingModel(place),
    unknown: newId,
    neighbourRefusal: null,
    refusal: '404 model_not_found',
  };
  const aCredential = {
    make: (place: Place) => maker.tenantCredential(place),
    unknown: newId,
    neighbourRefusal: null,
    refusal: '422 invalid_request',
  };
  const bodies = new Map<string, object>();
  const keyed = async (place: Place, id: string) => {
    const seed = `${place.tenantId} ${id}`;
    const body = bodies.get(seed) ?? embeddingModelBody();
    bodies.set(seed, body);
    return admin(place, 'POST', 'embedding-models', { body, headers: { 'idempotency-key': id } });
  };
  const aModel = async (place: Place) => `embedding-models/${await maker.embeddingModel(place)}`;
  return {
    'addEmbeddingModel header idempotency-key': {
      make: async (place) => {
        const id = newKey();
        await maker.send(await keyed(place, id));
        return id;
      },
      unknown: newKey,
      call: keyed,
      refusal: 'fresh',
      neighbourRefusal: null,
    },
    'addEmbeddingModel body credential_id': {
      ...aCredential,
      call: async (place, id) =>
        admin(place, 'POST', 'embedding-models', { body: { ...embeddingModelBody(), credential_id: id } }),
    },
    'listEmbeddingModels query cursor': {
      make: async (place) => {
        await maker.embeddingModel(place);
        await maker.embeddingModel(place);
        const page = await maker.send(admin(place, 'GET', 'embedding-models?limit=1'));
        return page.body.meta.next_cursor as string;
      },
      unknown: someCursor,
      call: async (place, id) => admin(place, 'GET', `embedding-models?cursor=${id}`),
      refusal: '422 invalid_cursor',
      neighbourRefusal: null,
    },
    'getEmbeddingModel path embedding_model_id': {
      ...ofTenant,
      call: async (place, id) => admin(place, 'GET', `embedding-models/${id}`),
    },
    'updateEmbeddingModel path embedding_model_id': {
      ...ofTenant,
      call: async (place, id) => admin(place, 'PATCH', `embedding-models/${id}`, { body: { price: '0.03' } }),
    },
    'updateEmbeddingModel body credential_id': {
      ...aCredential,
      call: async (place, id) => admin(place, 'PATCH', await aModel(place), { body: { credential_id: id } }),
    },
    'getSpaceEmbedding path space_id': spaceOf('GET', async () => 'embedding'),
    'changeSpaceEmbedding path space_id': {
      ...spaceOf('PUT', async () => 'embedding'),
      call: async (place, id) =>
        callAt({ ...place, spaceId: id }, 'PUT', 'embedding', {
          body: { model_id: await maker.builtinEmbeddingModel(place) },
        }),
    },
    'changeSpaceEmbedding body model_id': {
      ...ofTenant,
      make: (place) => maker.builtinEmbeddingModel(place),
      call: async (place, id) => callAt(place, 'PUT', 'embedding', { body: { model_id: id } }),
    },
    'cancelSpaceEmbedding path space_id': spaceOf('POST', async () => 'embedding/cancel'),
    'listEmbeddingUsage path space_id': spaceOf('GET', async () => 'embedding/usage'),
    'listEmbeddingUsage query cursor': cursorOf(async (place) => {
      await maker.embeddingUsage(place);
      return 'embedding/usage';
    }),
  };
}

const space = { unknown: newId, code: '404 space_not_found' };
const model = { unknown: newId, code: '404 model_not_found' };
const credential = { unknown: newId, code: '422 invalid_request' };
const cursor = { unknown: () => 'eyJ4Ijox.eA', code: '422 invalid_cursor' };

export function embeddingProcedures({
  maker,
  cursorOf,
}: {
  maker: Maker;
  cursorOf: (place: Place, path: string, input: object) => Promise<string>;
}): Record<string, ProcedureFixture> {
  const one = async (place: Place) => ({ embedding_model_id: await maker.embeddingModel(place) });
  const at = async ({ spaceId }: Place) => ({ space_id: spaceId });
  return {
    'embeddingModels.list': {
      input: async (place) => {
        await one(place);
        await one(place);
        return { limit: 1, cursor: await cursorOf(place, 'embeddingModels.list', {}) };
      },
      ids: { cursor },
    },
    'embeddingModels.get': { input: one, ids: { embedding_model_id: model } },
    'embeddingModels.add': {
      input: async (place) => ({
        ...embeddingModelBody(),
        credential_id: await maker.tenantCredential(place),
      }),
      ids: { credential_id: credential },
    },
    'embeddingModels.update': {
      input: async (place) => ({
        ...(await one(place)),
        credential_id: await maker.tenantCredential(place),
        price: '0.03',
      }),
      ids: { embedding_model_id: model, credential_id: credential },
    },
    'spaceEmbedding.get': { input: at, ids: { space_id: space } },
    'spaceEmbedding.change': {
      input: async (place) => ({ ...(await at(place)), model_id: await maker.builtinEmbeddingModel(place) }),
      ids: { space_id: space, model_id: model },
    },
    'spaceEmbedding.cancel': { input: at, ids: { space_id: space } },
    'spaceEmbedding.usage': {
      input: async (place) => {
        await maker.embeddingUsage(place);
        const input = { ...(await at(place)), days: 7, limit: 1 };
        return { ...input, cursor: await cursorOf(place, 'spaceEmbedding.usage', input) };
      },
      ids: { space_id: space, cursor },
    },
  };
}
