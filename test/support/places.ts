import { randomBytes } from 'node:crypto';
import { Space } from '#domain/workspace/spaces/space.entity.ts';
import { createSpace } from '#domain/workspace/spaces/create-space.ts';
import { allowModels } from '#domain/workspace/spaces/allow-models.ts';
import { addModel } from '#domain/capabilities/models/add-model.ts';
import { builtinSettings } from '#domain/capabilities/models/builtin-settings.ts';
import { EmbeddingModel } from '#domain/knowledge/embeddings/embedding-model.entity.ts';
import { recordUsage } from '#domain/knowledge/embeddings/record-usage.ts';
import { recordRerankingUsage } from '#domain/knowledge/reranking/record-reranking-usage.ts';
import { RerankingModel } from '#domain/knowledge/reranking/reranking-model.entity.ts';
import { finishIngestion } from '#domain/knowledge/ingestion/finish-ingestion.ts';
import { storePassages } from '#domain/knowledge/ingestion/store-passages.ts';
import { newId } from '#domain/foundation/kernel/ids.ts';
import { Item } from '#domain/responses/record/item.entity.ts';
import type { Actor } from '#domain/foundation/access/caller.ts';
import { AdminMaker } from './admin-maker.ts';
import type { UnitOfWork } from '#domain/foundation/persistence/unit-of-work.ts';
import type { TestDatabase } from './database.ts';
import type { Answer, Call, TestGateway } from './gateway.ts';
import { createWorld, type World } from './world.ts';

/** A space with its owner's key and an allowed model that no other space has. */
export interface Place {
  tenantId: string;
  spaceId: string;
  apiKey: string;
  modelAlias: string;
}

/** Two spaces of one tenant and one of another. */
export async function createPlaces(
  database: TestDatabase,
): Promise<{ world: World; here: Place; neighbour: Place; abroad: Place }> {
  const world = await createWorld(database.unitOfWork);
  const other = await createWorld(database.unitOfWork);
  const second = await database.unitOfWork.inTenant(world.tenantId, (em) =>
    createSpace(em, world.owner, { name: 'Next door' }),
  );
  const place = async (of: World, spaceId: string): Promise<Place> => {
    const modelAlias = `model-${newId()}`;
    await database.unitOfWork.inTenant(of.tenantId, async (em) => {
      const added = await addModel(em, of.owner, { ...builtinSettings, alias: modelAlias });
      const space = await em.findOneOrFail(Space, { id: spaceId });
      await allowModels(em, of.owner, { space, modelIds: [added.id], defaultModelId: added.id });
    });
    return { tenantId: of.tenantId, spaceId, apiKey: of.apiKey, modelAlias };
  };
  return {
    world,
    here: await place(world, world.spaceId),
    neighbour: await place(world, second.id),
    abroad: await place(other, other.spaceId),
  };
}

const nobody: Actor = {
  tenantId: '',
  principalId: newId(),
  principalType: 'service_account',
  origin: { via: 'cli', requestId: null },
};

export const question = {
  input: {
    items: [
      { role: 'user', content: 'A?' },
      { role: 'user', content: 'B?' },
    ],
  },
};

export const observabilityBody = { tracing_public_key: 'pk-tracing', tracing_secret_key: 'sk-tracing' };
export const vendorOrigin = 'https://api.openai.com';

/** New each time: an alias is unique. It takes a credential for `vendorOrigin`. */
export const rerankingModelBody = () => ({
  alias: `reranking-${newId()}`,
  provider_kind: 'rerank_compatible',
  provider_model: 'bge-reranker-v2-m3',
  base_url: `${vendorOrigin}/v1`,
  price: '0.02',
});
/** New each time: a name is taken once. */
export const credentialBody = () => ({
  name: `name-${newId()}`,
  kind: 'bearer',
  origin: 'https://tools.example.com',
  value: { token: 'tk-stored-7f3e' },
});
/** A folder that is only stored: no operation but a check reads it. */
export const connectorBody = { provider_slug: 'filesystem', scope_config: { root: 'files' } };

export const modelBody = () => ({
  alias: `model-${newId()}`,
  provider_kind: 'openai',
  provider_model: 'gpt-5-mini',
  price: { input: '2.5', output: '10' },
});

/** Creates resources in a place as its owner, through the API. */
export class Maker {
  readonly #gateway: () => TestGateway;
  /** People, roles and their resources. */
  readonly admin: AdminMaker;

  constructor(gateway: () => TestGateway) {
    this.#gateway = gateway;
    this.admin = new AdminMaker(
      (call) => gateway().send(call),
      () => gateway().gateway.unitOfWork,
    );
  }

  /** A model of the tenant that no space allows. */
  async model({ tenantId }: Place): Promise<string> {
    const alias = `model-${newId()}`;
    const actor = { ...nobody, tenantId };
    await this.#gateway().gateway.unitOfWork.inTenant(tenantId, (em) =>
      addModel(em, actor, { ...builtinSettings, alias }),
    );
    return alias;
  }

  async collection(place: Place): Promise<string> {
    return this.#made(place, 'collections', { name: 'Harbours' });
  }

  async document(place: Place, collectionId: string): Promise<string> {
    const content = { filename: 'a.txt', media_type: 'text/plain', content: 'The beacon is blue.' };
    return this.#made(place, `collections/${collectionId}/documents`, content);
  }

  /** A document that was read, with two passages. */
  async readDocument(place: Place, collectionId: string): Promise<string> {
    const id = await this.document(place, collectionId);
    await this.unitOfWork.inTenant(place.tenantId, async (em) => {
      const passages = ['The beacon', 'is blue.'].map((text, n) => ({
        heading: null,
        text,
        start: n * 11,
        end: n * 11 + text.length,
        page: null,
        anchor: null,
      }));
      await storePassages(em, { documentId: id, readingId: 'first', chunks: passages });
      await finishIngestion(em, id, null);
    });
    return id;
  }

  /** A new document of the collection if it is of this place, else of another collection. */
  async documentOf(place: Place, collectionId: string): Promise<string> {
    const body = { filename: 'a.txt', media_type: 'text/plain', content: 'The beacon is blue.' };
    const path = `/v1/spaces/${place.spaceId}/collections/${collectionId}/documents`;
    const made = await this.#gateway().send({ method: 'POST', path, apiKey: place.apiKey, body });
    return made.status === 201
      ? (made.body.data.id as string)
      : this.document(place, await this.collection(place));
  }

  /** A connector, whose first run is queued. */
  async connector(place: Place, collectionId: string): Promise<string> {
    return this.#made(place, `collections/${collectionId}/connectors`, connectorBody);
  }

  /** The queued run of a connector. */
  async syncRun(place: Place, collectionId: string, connectorId: string): Promise<string> {
    const path = `collections/${collectionId}/connectors/${connectorId}/sync`;
    const { body } = await this.#done(place, 'POST', path);
    return body.data.id as string;
  }

  /** A document of a connector's source that was skipped. */
  async sourceDocument({ tenantId }: Place, connectorId: string): Promise<void> {
    const id = newId();
    await this.unitOfWork.inTenant(tenantId, (em) =>
      em.execute(
        `insert into source_documents (tenant_id, id, connector_id, ref, name, state, error_code, listing)
         values (?, ?, ?, ?, 'a.bin', 'skipped', 'unsupported_type', 1)`,
        [tenantId, id, connectorId, id],
      ),
    );
  }

  get unitOfWork(): UnitOfWork {
    return this.#gateway().gateway.unitOfWork;
  }

  async send(call: Call): Promise<Answer> {
    return this.#gateway().send(call);
  }

  async response(place: Place, headers: Record<string, string> = {}): Promise<string> {
    return this.#made(place, 'responses', question, headers);
  }

  /** A response that was cancelled before it began. */
  async ended(place: Place): Promise<string> {
    const id = await this.response(place);
    await this.#done(place, 'POST', `responses/${id}/cancel`);
    return id;
  }

  async item(place: Place): Promise<string> {
    const page = await this.#done(place, 'GET', `responses/${await this.response(place)}/input_items`);
    return page.body.data[0].id as string;
  }

  /** A registered tool server that has not been listed yet; `slug` is its own in its space. */
  async server(place: Place): Promise<{ id: string; slug: string }> {
    const slug = `s-${newId().slice(-12)}`;
    const body = { slug, display_name: 'Tools', url: 'https://tools.example.com/mcp' };
    const made = await this.#done(place, 'POST', 'mcp-servers', { body });
    return { id: made.body.data.mcp_server_config_id as string, slug };
  }

  /** A tool server that is used with an account of each person, or with one of the space. */
  async connectionServer(place: Place, mode: 'personal' | 'shared'): Promise<string> {
    const slug = `s-${newId().slice(-12)}`;
    const url = 'https://tools.example.com/mcp';
    const body = { slug, display_name: 'Tools', url, connection_mode: mode };
    const made = await this.#done(place, 'POST', 'mcp-servers', { body });
    return made.body.data.mcp_server_config_id as string;
  }

  /** One for where `server` is. */
  async credential(place: Place): Promise<string> {
    return this.#made(place, 'credentials', credentialBody());
  }

  /** One of the whole tenant, for where `addedModel` is. */
  async tenantCredential({ apiKey }: Place): Promise<string> {
    return this.#madeIn(apiKey, 'credentials', { ...credentialBody(), origin: vendorOrigin });
  }

  async embeddingModel({ apiKey }: Place): Promise<string> {
    return this.#madeIn(apiKey, 'embedding-models', {
      alias: `embedding-${newId()}`,
      provider_kind: 'openai',
      provider_model: 'text-embedding-3-small',
    });
  }

  /** The builtin embedding model, which each tenant has from the beginning. */
  async builtinEmbeddingModel({ apiKey }: Place): Promise<string> {
    const { body } = await this.send({ method: 'GET', path: '/v1/admin/embedding-models?limit=100', apiKey });
    return body.data.find((model: { alias: string }) => model.alias === 'builtin').id;
  }

  /** Texts that two models embedded in the space today. */
  async embeddingUsage(place: Place): Promise<void> {
    const { tenantId, spaceId } = place;
    const ids = [await this.builtinEmbeddingModel(place), await this.embeddingModel(place)];
    await this.unitOfWork.inTenant(tenantId, async (em) => {
      for (const model of await em.find(EmbeddingModel, { id: { $in: ids } })) {
        await recordUsage(em, { spaceId, model, purpose: 'passages', texts: 2, tokens: 7 });
      }
    });
  }

  async rerankingModel({ apiKey }: Place): Promise<string> {
    return this.#madeIn(apiKey, 'reranking-models', rerankingModelBody());
  }

  /** Passages that two models judged in the space today. */
  async rerankingUsage(place: Place): Promise<void> {
    const { tenantId, spaceId } = place;
    const ids = [await this.rerankingModel(place), await this.rerankingModel(place)];
    await this.unitOfWork.inTenant(tenantId, async (em) => {
      for (const model of await em.find(RerankingModel, { id: { $in: ids } })) {
        await recordRerankingUsage(em, { spaceId, model, passages: 2, tokens: 7, searches: 1 });
      }
    });
  }

  /** A skill of the tenant without a version. */
  async skill({ apiKey }: Place): Promise<string> {
    return this.#madeIn(apiKey, 'skills', { name: `skill-${newId()}` });
  }

  async skillVersion({ apiKey }: Place, skillId: string): Promise<string> {
    return this.#madeIn(apiKey, `skills/${skillId}/versions`, { instructions: 'Answer in rhymes.' });
  }

  async publish({ apiKey }: Place, ref: { skill_id: string; version_id: string }): Promise<void> {
    await this.#madeIn(apiKey, `skills/${ref.skill_id}/versions/${ref.version_id}/publish`);
  }

  /** A skill available to responses. */
  async publishedSkill(place: Place): Promise<string> {
    const skillId = await this.skill(place);
    await this.publish(place, { skill_id: skillId, version_id: await this.skillVersion(place, skillId) });
    return skillId;
  }

  /** @returns its id */
  async addedModel({ apiKey }: Place): Promise<string> {
    return this.#madeIn(apiKey, 'models', modelBody());
  }

  async observability(place: Place): Promise<void> {
    await this.#done(place, 'PUT', 'observability/config', { body: observabilityBody });
  }

  async #madeIn(apiKey: string, path: string, body?: object): Promise<string> {
    const call = { method: 'POST', path: `/v1/admin/${path}`, apiKey, ...(body && { body }) };
    const made = await this.#gateway().send(call);
    if (made.status >= 300) {
      throw new Error(`POST ${path} answered ${made.status}: ${made.text}`);
    }
    return made.body.data.id as string;
  }

  /** A response that has ended with a call that waits for consent, and the id of its approval request. */
  async approvalRequest(place: Place): Promise<{ responseId: string; requestId: string }> {
    const responseId = await this.ended(place);
    const requestId = `mcpr_${randomBytes(10).toString('hex')}`;
    const asked = { server_label: 'crm', name: 'find', arguments: '{}' };
    const wire = { id: requestId, type: 'mcp_approval_request', status: 'completed', ...asked };
    const { tenantId } = place;
    await this.#gateway().gateway.unitOfWork.inTenant(tenantId, async (em) => {
      em.create(Item, {
        tenantId,
        id: requestId,
        responseId,
        outputIndex: 0,
        type: wire.type,
        wire: JSON.stringify(wire),
        exchange: { call_id: 'call_1', name: 'mcp__crm__find', arguments: '{}', result: null },
      });
    });
    return { responseId, requestId };
  }

  /** A notification of the principal of the place's key. */
  async notification({ tenantId, spaceId, apiKey }: Place): Promise<string> {
    const id = newId();
    await this.#gateway().gateway.unitOfWork.inTenant(tenantId, (em) =>
      em.execute(
        `insert into notifications (tenant_id, id, event_id, user_id, category, event_type, resource_type, resource_id, title)
         select tenant_id, ?::uuid, ?::uuid, principal_id, 'space', 'space.member_added', 'space', ?, 'You are now a member'
           from api_keys where key_id = ?`,
        [id, newId(), spaceId, apiKey.split('.')[1]],
      ),
    );
    return id;
  }

  /** The cursor after the first of two notifications of the same. */
  async notificationCursor(place: Place): Promise<string> {
    await this.notification(place);
    await this.notification(place);
    const call = { method: 'GET', path: '/v1/notifications?limit=1', apiKey: place.apiKey };
    return (await this.send(call)).body.meta.next_cursor as string;
  }

  /** The cursor after the first of at least two entries of a list. */
  async cursor(place: Place, list: string): Promise<string> {
    const page = await this.#done(place, 'GET', `${list}?limit=1`);
    return page.body.meta.next_cursor as string;
  }

  /** The newest event of the place's tenant. */
  async event(place: Place): Promise<string> {
    await this.collection(place);
    return (await this.#events(place)).data[0].id as string;
  }

  async eventCursor(place: Place): Promise<string> {
    return (await this.#events(place)).meta.next_cursor as string;
  }

  // oxlint-disable-next-line typescript/no-explicit-any
  async #events(place: Place): Promise<any> {
    const answer = await this.send({ method: 'GET', path: '/v1/events?limit=1', apiKey: place.apiKey });
    return answer.body;
  }

  async remove(place: Place, path: string): Promise<void> {
    await this.#done(place, 'DELETE', path);
  }

  async #made(
    place: Place,
    path: string,
    body: object,
    headers: Record<string, string> = {},
  ): Promise<string> {
    const { body: made } = await this.#done(place, 'POST', path, { body, headers });
    return made.data.id as string;
  }

  async #done(place: Place, method: string, path: string, more: Partial<Call> = {}): Promise<Answer> {
    const { spaceId, apiKey } = place;
    const answer = await this.#gateway().send({
      method,
      path: `/v1/spaces/${spaceId}/${path}`,
      apiKey,
      ...more,
    });
    if (answer.status >= 300) {
      throw new Error(`${method} ${path} answered ${answer.status}: ${answer.text}`);
    }
    return answer;
  }
}
