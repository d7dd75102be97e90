import { newId } from '#domain/foundation/kernel/ids.ts';
import type { Call } from './gateway.ts';
import type { IdFixture } from './id-fixtures.ts';
import { rerankingModelBody, type Maker, type Place } from './places.ts';
import type { ProcedureFixture } from './procedure-fixtures.ts';
import { callAt, newKey, someCursor, spaceFixtures } from './space-fixtures.ts';

const words = ['alias', 'provider_model', 'base_url', 'price', 'search_price'];
const changeable = ['base_url', 'price', 'search_price'];

/** Free text of operations that contains no id. */
export const rerankingText = [
  ...words.map((word) => `addRerankingModel body ${word}`),
  ...changeable.map((word) => `updateRerankingModel body ${word}`),
];

/** The same of procedures. */
export const rerankingProcedureText = [
  ...words.map((word) => `rerankingModels.add ${word}`),
  ...changeable.map((word) => `rerankingModels.update ${word}`),
];

const admin = (place: Place, method: string, path: string, more: Partial<Call> = {}): Call => ({
  method,
  path: `/v1/admin/${path}`,
  apiKey: place.apiKey,
  ...more,
});

/** Operations that hold no id, right in everything. */
export const plainRerankingCalls: Record<string, (place: Place) => Call> = {
  addRerankingModel: (place) => admin(place, 'POST', 'reranking-models', { body: rerankingModelBody() }),
  listRerankingModels: (place) => admin(place, 'GET', 'reranking-models'),
};

export function rerankingFixtures(maker: Maker): Record<string, IdFixture> {
  const { spaceOf, cursorOf } = spaceFixtures(maker);
  const ofTenant = {
    make: (place: Place) => maker.rerankingModel(place),
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
    const body = bodies.get(seed) ?? rerankingModelBody();
    bodies.set(seed, body);
    return admin(place, 'POST', 'reranking-models', { body, headers: { 'idempotency-key': id } });
  };
  const aModel = async (place: Place) => `reranking-models/${await maker.rerankingModel(place)}`;
  return {
    'addRerankingModel header idempotency-key': {
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
    'addRerankingModel body credential_id': {
      ...aCredential,
      call: async (place, id) =>
        admin(place, 'POST', 'reranking-models', { body: { ...rerankingModelBody(), credential_id: id } }),
    },
    'listRerankingModels query cursor': {
      make: async (place) => {
        await maker.rerankingModel(place);
        await maker.rerankingModel(place);
        const page = await maker.send(admin(place, 'GET', 'reranking-models?limit=1'));
        return page.body.meta.next_cursor as string;
      },
      unknown: someCursor,
      call: async (place, id) => admin(place, 'GET', `reranking-models?cursor=${id}`),
      refusal: '422 invalid_cursor',
      neighbourRefusal: null,
    },
    'getRerankingModel path reranking_model_id': {
      ...ofTenant,
      call: async (place, id) => admin(place, 'GET', `reranking-models/${id}`),
    },
    'updateRerankingModel path reranking_model_id': {
      ...ofTenant,
      call: async (place, id) => admin(place, 'PATCH', `reranking-models/${id}`, { body: { price: '0.03' } }),
    },
    'updateRerankingModel body credential_id': {
      ...aCredential,
      call: async (place, id) => admin(place, 'PATCH', await aModel(place), { body: { credential_id: id } }),
    },
    'getSpaceReranking path space_id': spaceOf('GET', async () => 'reranking'),
    'changeSpaceReranking path space_id': {
      ...spaceOf('PUT', async () => 'reranking'),
      call: async (place, id) =>
        callAt({ ...place, spaceId: id }, 'PUT', 'reranking', {
          body: { model_id: await maker.rerankingModel(place) },
        }),
    },
    'changeSpaceReranking body model_id': {
      ...ofTenant,
      call: async (place, id) => callAt(place, 'PUT', 'reranking', { body: { model_id: id } }),
    },
    'listRerankingUsage path space_id': spaceOf('GET', async () => 'reranking/usage'),
    'listRerankingUsage query cursor': cursorOf(async (place) => {
      await maker.rerankingUsage(place);
      return 'reranking/usage';
    }),
  };
}

const space = { unknown: newId, code: '404 space_not_found' };
const model = { unknown: newId, code: '404 model_not_found' };
const credential = { unknown: newId, code: '422 invalid_request' };
const cursor = { unknown: () => 'eyJ4Ijox.eA', code: '422 invalid_cursor' };

export function rerankingProcedures({
  maker,
  cursorOf,
}: {
  maker: Maker;
  cursorOf: (place: Place, path: string, input: object) => Promise<string>;
}): Record<string, ProcedureFixture> {
  const one = async (place: Place) => ({ reranking_model_id: await maker.rerankingModel(place) });
  const at = async ({ spaceId }: Place) => ({ space_id: spaceId });
  return {
    'rerankingModels.list': {
      input: async (place) => {
        await one(place);
        await one(place);
        return { limit: 1, cursor: await cursorOf(place, 'rerankingModels.list', {}) };
      },
      ids: { cursor },
    },
    'rerankingModels.get': { input: one, ids: { reranking_model_id: model } },
    'rerankingModels.add': {
      input: async (place) => ({
        ...rerankingModelBody(),
        credential_id: await maker.tenantCredential(place),
      }),
      ids: { credential_id: credential },
    },
    'rerankingModels.update': {
      input: async (place) => ({
        ...(await one(place)),
        credential_id: await maker.tenantCredential(place),
        price: '0.03',
      }),
      ids: { reranking_model_id: model, credential_id: credential },
    },
    'spaceReranking.get': { input: at, ids: { space_id: space } },
    'spaceReranking.change': {
      input: async (place) => ({ ...(await at(place)), model_id: await maker.rerankingModel(place) }),
      ids: { space_id: space, model_id: model },
    },
    'spaceReranking.usage': {
      input: async (place) => {
        await maker.rerankingUsage(place);
        const input = { ...(await at(place)), days: 7, limit: 1 };
        return { ...input, cursor: await cursorOf(place, 'spaceReranking.usage', input) };
      },
      ids: { space_id: space, cursor },
    },
  };
}
