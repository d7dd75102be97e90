import { createHash, randomBytes } from 'node:crypto';
import { newId, newResponseId } from '#domain/foundation/kernel/ids.ts';
import { adminFixtures, wholeCalls } from './admin-fixtures.ts';
import { embeddingFixtures, plainEmbeddingCalls } from './embedding-fixtures.ts';
import { plainRerankingCalls, rerankingFixtures } from './reranking-fixtures.ts';
import { connectionCalls, connectionFixtures } from './connection-fixtures.ts';
import { connectorFixtures } from './connector-fixtures.ts';
import { deletionCalls, deletionFixtures } from './deletion-fixtures.ts';
import { sourceConnectionFixtures } from './source-connection-fixtures.ts';
import { credentialFixtures, plainCredentialCalls } from './credential-fixtures.ts';
import type { Call } from './gateway.ts';
import { mirrored, openAiFixtures } from './openai-fixtures.ts';
import { threadFixtures } from './thread-fixtures.ts';
import { observabilityBody, question, type Maker, type Place } from './places.ts';
import { callAt, newKey, someCursor, spaceFixtures } from './space-fixtures.ts';
import { signInCalls, signInFixtures } from './sign-in-fixtures.ts';
import { plainCalls, tenantFixtures } from './tenant-fixtures.ts';

/** The test of an id position. */
export interface IdFixture {
  /** An id of `place` that its owner may use; created each time, since some calls consume it. */
  make(place: Place): Promise<string>;
  /** A deleted id there; omitted where nothing can be deleted. */
  gone?(place: Place): Promise<string>;
  unknown(): string;
  /** A valid request of `place`'s owner, with `id` at the position. */
  call(place: Place, id: string): Promise<Call>;
  /** `<status> <code>` for every unknown id; `fresh` when it counts as never used. */
  refusal: string;
  /** The status of a success of an idempotency key, where it is not 201. */
  freshStatus?: number;
  /** For a deleted id of the caller's own, where it differs. */
  goneRefusal?: string;
  /** For an id of another space of the same tenant; null where that owner may use it. */
  neighbourRefusal?: string | null;
  /** Called by an operator of the platform, who reads other tenants on purpose. */
  operator?: true;
}

type Fixtures = Record<string, IdFixture>;
const collectionBody = { name: 'Harbours' };
const documentBody = { filename: 'a.txt', media_type: 'text/plain', content: 'The beacon is blue.' };
/** Of a file as a body; its bytes may be JSON. */
const contentPath = '/documents/content?filename=a.txt';
/** The same for the same seed. */
const serverBody = (seed = newKey()) => ({
  slug: `s-${createHash('sha256').update(seed).digest('hex').slice(0, 12)}`,
  display_name: 'Tools',
  url: 'https://tools.example.com/mcp',
});

const searchBody = { query: 'Where is the beacon?' };
const contextOf = ({ apiKey }: Place, { query = '', body }: { query?: string; body?: object }): Call => ({
  method: 'POST',
  path: `/v1/knowledge/calculate_context${query}`,
  apiKey,
  ...(body === undefined ? {} : { body }),
});

/** A valid request of each operation outside of any space; as the principal of the place's key. */
export function callsOutsideSpaces(maker: Maker): Record<string, (place: Place) => Promise<Call>> {
  const at =
    (method: string, path: string) =>
    async ({ apiKey }: Place) => ({
      method,
      path: `/v1/${path}`,
      apiKey,
    });
  const ofOne = (method: string, suffix: string) => async (place: Place) => ({
    method,
    path: `/v1/notifications/${await maker.notification(place)}${suffix}`,
    apiKey: place.apiKey,
  });
  return {
    listNotifications: at('GET', 'notifications'),
    countUnreadNotifications: at('GET', 'notifications/unread-count'),
    getNotification: ofOne('GET', ''),
    readNotification: ofOne('POST', '/read'),
    readAllNotifications: at('POST', 'notifications/read-all'),
    listConnectorProviders: at('GET', 'connector-providers'),
    calculateContext: async (place) => contextOf(place, { body: { question: 'Where is the beacon?' } }),
  };
}

/** One for every position of the API that holds an id. */
export function idFixtures(maker: Maker): Fixtures {
  const at = callAt;
  const { spaceOf, freshKey, cursorOf } = spaceFixtures(maker);

  const collectionIn = (
    method: string,
    rest: (place: Place, id: string) => Promise<string>,
    body?: object,
  ) => ({
    make: (place: Place) => maker.collection(place),
    gone: async (place: Place) => {
      const id = await maker.collection(place);
      await maker.remove(place, `collections/${id}`);
      return id;
    },
    unknown: newId,
    call: async (place: Place, id: string) =>
      at(place, method, await rest(place, id), body === undefined ? {} : { body }),
    refusal: '404 collection_not_found',
  });

  /** The space in which an id was made. */
  const places = new Map<string, string>();

  /** The document belongs to a collection of the place, or to the place that made it. */
  const homes = new Map<string, string>();
  const documentIn = (method: string, suffix = ''): IdFixture => ({
    make: async (place) => {
      const home = await maker.collection(place);
      const id = await maker.document(place, home);
      homes.set(id, home);
      return id;
    },
    gone: async (place) => {
      const home = await maker.collection(place);
      const id = await maker.document(place, home);
      await maker.remove(place, `collections/${home}/documents/${id}`);
      homes.set(id, home);
      return id;
    },
    unknown: newId,
    call: async (place, id) => {
      const inside = await maker.collection(place);
      const own = places.get(id) === place.spaceId ? homes.get(id) : undefined;
      return at(place, method, `collections/${own ?? inside}/documents/${id}${suffix}`);
    },
    refusal: '404 document_not_found',
  });
  const remembering = (fixture: IdFixture): IdFixture => ({
    ...fixture,
    make: async (place) => {
      const id = await fixture.make(place);
      places.set(id, place.spaceId);
      return id;
    },
  });

  const responseIn = (method: string, suffix: string, ended: boolean): IdFixture => ({
    make: (place) => (ended ? maker.ended(place) : maker.response(place)),
    gone: async (place) => {
      const id = await maker.response(place);
      await maker.remove(place, `responses/${id}`);
      return id;
    },
    unknown: newResponseId,
    call: async (place, id) => at(place, method, `responses/${id}${suffix}`),
    refusal: '404 response_not_found',
    goneRefusal: '404 response_deleted',
  });

  const creating = (part: (id: string) => object, rest: Omit<IdFixture, 'call' | 'unknown'>): IdFixture => ({
    unknown: newId,
    call: async (place, id) => at(place, 'POST', 'responses', { body: { ...question, ...part(id) } }),
    ...rest,
  });
  const someCollection = {
    make: (place: Place) => maker.collection(place),
    refusal: '404 collection_not_found',
  };
  const alias = {
    make: async (place: Place) => place.modelAlias,
    refusal: '404 model_not_found',
    neighbourRefusal: '403 model_not_allowed',
  };

  const keyed = (send: (place: Place, id: string) => Partial<Call>): IdFixture => ({
    make: async (place) => {
      const id = newKey();
      await maker.response(place, { 'idempotency-key': id });
      return id;
    },
    unknown: newKey,
    call: async (place, id) => at(place, 'POST', 'responses', send(place, id)),
    refusal: '422 cursor_without_response',
  });

  const aResponse =
    (suffix: string, ended = false) =>
    async (place: Place) =>
      `responses/${await (ended ? maker.ended(place) : maker.response(place))}${suffix}`;
  const aCollection = (suffix: string) => async (place: Place) =>
    `collections/${await maker.collection(place)}${suffix}`;
  const aDocument = async (place: Place) => {
    const home = await maker.collection(place);
    return `collections/${home}/documents/${await maker.document(place, home)}`;
  };

  const aServer = (suffix: string) => async (place: Place) =>
    `mcp-servers/${(await maker.server(place)).id}${suffix}`;
  const serverIn = (method: string, suffix: string, body?: object): IdFixture => ({
    make: async (place) => (await maker.server(place)).id,
    gone: async (place) => {
      const { id } = await maker.server(place);
      await maker.remove(place, `mcp-servers/${id}`);
      return id;
    },
    unknown: newId,
    call: async (place, id) =>
      at(place, method, `mcp-servers/${id}${suffix}`, body === undefined ? {} : { body }),
    refusal: '404 mcp_server_not_found',
  });
  /** A slug is an id within its space: another space's slug is unknown here. */
  const slugIn = (name: (slug: string) => string, tools: (name: string) => unknown): IdFixture => ({
    ...creating((id) => ({ tools: ['knowledge_search', tools(id)] }), {
      make: async (place) => name((await maker.server(place)).slug),
      gone: async (place) => {
        const { id, slug } = await maker.server(place);
        await maker.remove(place, `mcp-servers/${id}`);
        return name(slug);
      },
      refusal: '403 tool_not_granted',
    }),
    unknown: () => name(`s-${randomBytes(6).toString('hex')}`),
  });
  /** The response that an approval request belongs to. */
  const askedBy = new Map<string, string>();

  /** The space's configuration is deleted by its removal: each call has its own. */
  const configured = (method: string): IdFixture => ({
    make: async (place) => place.spaceId,
    unknown: newId,
    call: async (place, id) => {
      await maker.observability(place);
      return { method, path: `/v1/spaces/${id}/observability/config`, apiKey: place.apiKey };
    },
    refusal: '404 space_not_found',
    neighbourRefusal: null,
  });
  const ofNotification = (method: string, suffix: string): IdFixture => ({
    make: (place) => maker.notification(place),
    unknown: newId,
    call: async ({ apiKey }, id) => ({ method, path: `/v1/notifications/${id}${suffix}`, apiKey }),
    refusal: '404 notification_not_found',
    neighbourRefusal: null,
  });

  const native: Fixtures = {
    'listEvents query cursor': {
      make: (place) => maker.eventCursor(place),
      unknown: someCursor,
      call: async (place, id) => ({
        method: 'GET',
        path: `/v1/events?cursor=${id}`,
        apiKey: place.apiKey,
      }),
      refusal: '422 invalid_cursor',
      neighbourRefusal: null,
    },
    'getEvent path event_id': {
      make: (place) => maker.event(place),
      unknown: newId,
      call: async (place, id) => ({ method: 'GET', path: `/v1/events/${id}`, apiKey: place.apiKey }),
      refusal: '404 event_not_found',
      neighbourRefusal: null,
    },
    'getNotification path notification_id': ofNotification('GET', ''),
    'readNotification path notification_id': ofNotification('POST', '/read'),
    'listNotifications query cursor': {
      make: (place) => maker.notificationCursor(place),
      unknown: someCursor,
      call: async ({ apiKey }, id) => ({ method: 'GET', path: `/v1/notifications?cursor=${id}`, apiKey }),
      refusal: '422 invalid_cursor',
      neighbourRefusal: null,
    },
    'registerServer path space_id': spaceOf('POST', async () => 'mcp-servers', serverBody),
    'registerServer header idempotency-key': freshKey(async () => 'mcp-servers', serverBody),
    'listServers path space_id': spaceOf('GET', async () => 'mcp-servers'),
    'listServers query cursor': cursorOf(async (place) => {
      await maker.server(place);
      await maker.server(place);
      return 'mcp-servers';
    }),
    'getServer path space_id': spaceOf('GET', aServer('')),
    'getServer path server_id': serverIn('GET', ''),
    'updateServer path space_id': spaceOf('PATCH', aServer(''), { enabled_tools: ['*'] }),
    'updateServer path server_id': serverIn('PATCH', '', { enabled_tools: ['*'] }),
    'refreshServer path space_id': spaceOf('POST', aServer('/refresh')),
    'refreshServer path server_id': serverIn('POST', '/refresh'),
    'removeServer path space_id': spaceOf('DELETE', aServer('')),
    'removeServer path server_id': serverIn('DELETE', ''),
    'createResponse body tools[]': slugIn(
      (slug) => `mcp__${slug}__*`,
      (pattern) => pattern,
    ),
    'createResponse body tools[].server_label': slugIn(
      (slug) => slug,
      (label) => ({ type: 'mcp', server_label: label }),
    ),
    'createResponse body input.items[].approval_request_id': {
      make: async (place) => {
        const { responseId, requestId } = await maker.approvalRequest(place);
        askedBy.set(`${place.spaceId} ${requestId}`, responseId);
        return requestId;
      },
      unknown: () => `mcpr_${randomBytes(10).toString('hex')}`,
      call: async (place, id) => {
        const previous = askedBy.get(`${place.spaceId} ${id}`) ?? (await maker.ended(place));
        const item = { type: 'mcp_approval_response', approval_request_id: id, approve: false };
        const body = { previous_response_id: previous, input: { items: [item] } };
        return at(place, 'POST', 'responses', { body });
      },
      refusal: '422 invalid_request',
    },
    'createResponse body platform.skill_id': creating((id) => ({ platform: { skill_id: id } }), {
      make: (place) => maker.publishedSkill(place),
      gone: async (place) => {
        const id = await maker.publishedSkill(place);
        await maker.send({ method: 'DELETE', path: `/v1/admin/skills/${id}`, apiKey: place.apiKey });
        return id;
      },
      refusal: '404 skill_not_found',
      neighbourRefusal: null,
    }),
    'setObservability path space_id': spaceOf('PUT', async () => 'observability/config', observabilityBody),
    'getObservability path space_id': configured('GET'),
    'removeObservability path space_id': configured('DELETE'),
    'createResponse path space_id': spaceOf('POST', async () => 'responses', question),
    'createResponse header idempotency-key': keyed((_place, id) => ({
      body: question,
      headers: { 'idempotency-key': id, 'last-event-id': '0' },
    })),
    'createResponse body idempotency_key': keyed((_place, id) => ({
      body: { ...question, idempotency_key: id },
      headers: { 'last-event-id': '0' },
    })),
    'createResponse header last-event-id': {
      make: async (place) => `${await maker.response(place)}:0`,
      gone: async (place) => {
        const id = await maker.response(place);
        await maker.remove(place, `responses/${id}`);
        return `${id}:0`;
      },
      unknown: () => `${newResponseId()}:0`,
      call: async (place, id) =>
        at(place, 'POST', 'responses', { body: question, headers: { 'last-event-id': id } }),
      refusal: '422 invalid_cursor',
      goneRefusal: '404 response_deleted',
    },
    'createResponse body input.items[].id': creating(
      (id) => ({ input: { items: [{ type: 'item_reference', id }] } }),
      { make: (place) => maker.item(place), refusal: '422 invalid_request' },
    ),
    'createResponse body model': creating((id) => ({ model: id }), alias),
    'createResponse body model.alias': creating((id) => ({ model: { alias: id } }), alias),
    'createResponse body tools[].collection_ids[]': creating(
      (id) => ({ tools: [{ type: 'knowledge_search', collection_ids: [id] }] }),
      someCollection,
    ),
    'createResponse body tools[].vector_store_ids[]': creating(
      (id) => ({ tools: [{ type: 'file_search', vector_store_ids: [id] }] }),
      someCollection,
    ),
    'createResponse body platform.collection_ids[]': creating(
      (id) => ({ platform: { collection_ids: [id] } }),
      someCollection,
    ),
    'createResponse body previous_response_id': creating((id) => ({ previous_response_id: id }), {
      make: (place) => maker.ended(place),
      gone: async (place) => {
        const id = await maker.ended(place);
        await maker.remove(place, `responses/${id}`);
        return id;
      },
      refusal: '404 previous_response_not_found',
    }),
    'listResponses path space_id': spaceOf('GET', async () => 'responses'),
    'listResponses query cursor': cursorOf(async (place) => {
      await maker.response(place);
      await maker.response(place);
      return 'responses';
    }),
    'getResponse path space_id': spaceOf('GET', aResponse('')),
    'getResponse path response_id': responseIn('GET', '', false),
    'getResponse header last-event-id': remembering({
      make: async (place) => `${await maker.ended(place)}:0`,
      unknown: () => `${newResponseId()}:0`,
      call: async (place, id) => {
        const own = places.get(id) === place.spaceId ? id.split(':')[0] : await maker.ended(place);
        return at(place, 'GET', `responses/${own}?stream=true`, { headers: { 'last-event-id': id } });
      },
      refusal: '422 invalid_cursor',
    }),
    'deleteResponse path space_id': spaceOf('DELETE', aResponse('')),
    'deleteResponse path response_id': responseIn('DELETE', '', false),
    'cancelResponse path space_id': spaceOf('POST', aResponse('/cancel')),
    'cancelResponse path response_id': responseIn('POST', '/cancel', false),
    'listInputItems path space_id': spaceOf('GET', aResponse('/input_items')),
    'listInputItems path response_id': responseIn('GET', '/input_items', false),
    'listInputItems query cursor': cursorOf(aResponse('/input_items')),
    'listResponseEvents path space_id': spaceOf('GET', aResponse('/events')),
    'listResponseEvents path response_id': responseIn('GET', '/events', true),
    'createCollection path space_id': spaceOf('POST', async () => 'collections', collectionBody),
    'createCollection header idempotency-key': freshKey(async () => 'collections', collectionBody),
    'listCollections path space_id': spaceOf('GET', async () => 'collections'),
    'listCollections query cursor': cursorOf(async (place) => {
      await maker.collection(place);
      await maker.collection(place);
      return 'collections';
    }),
    'getCollection path space_id': spaceOf('GET', aCollection('')),
    'getCollection path collection_id': collectionIn('GET', async (_place, id) => `collections/${id}`),
    'updateCollection path space_id': spaceOf('PATCH', aCollection(''), { name: 'Tides' }),
    'updateCollection path collection_id': collectionIn('PATCH', async (_place, id) => `collections/${id}`, {
      name: 'Tides',
    }),
    'deleteCollection path space_id': spaceOf('DELETE', aCollection('')),
    'deleteCollection path collection_id': collectionIn('DELETE', async (_place, id) => `collections/${id}`),
    'uploadDocument path space_id': spaceOf('POST', aCollection('/documents'), documentBody),
    'uploadDocument path collection_id': collectionIn(
      'POST',
      async (_place, id) => `collections/${id}/documents`,
      documentBody,
    ),
    'uploadDocument header idempotency-key': freshKey(aCollection('/documents'), documentBody),
    'uploadDocumentContent path space_id': spaceOf('POST', aCollection(contentPath), documentBody),
    'uploadDocumentContent path collection_id': collectionIn(
      'POST',
      async (_place, id) => `collections/${id}${contentPath}`,
      documentBody,
    ),
    'uploadDocumentContent header idempotency-key': freshKey(aCollection(contentPath), documentBody),
    'listPassages path space_id': spaceOf('GET', async (place) => `${await aDocument(place)}/passages`),
    'listPassages path collection_id': collectionIn(
      'GET',
      async (place, id) => `collections/${id}/documents/${await maker.documentOf(place, id)}/passages`,
    ),
    'listPassages path document_id': remembering(documentIn('GET', '/passages')),
    'listPassages query cursor': cursorOf(async (place) => {
      const home = await maker.collection(place);
      return `collections/${home}/documents/${await maker.readDocument(place, home)}/passages`;
    }),
    'listDocuments path space_id': spaceOf('GET', aCollection('/documents')),
    'listDocuments path collection_id': collectionIn(
      'GET',
      async (_place, id) => `collections/${id}/documents`,
    ),
    'listDocuments query cursor': cursorOf(async (place) => {
      const home = await maker.collection(place);
      await maker.document(place, home);
      await maker.document(place, home);
      return `collections/${home}/documents`;
    }),
    'executeKnowledgeSearch path space_id': spaceOf(
      'POST',
      async () => 'tools/knowledge_search/execute',
      searchBody,
    ),
    'executeKnowledgeSearch body collection_ids[]': {
      ...someCollection,
      unknown: newId,
      call: async (place, id) =>
        at(place, 'POST', 'tools/knowledge_search/execute', {
          body: { ...searchBody, collection_ids: [id] },
        }),
    },
    'calculateContext query collection_ids': {
      ...someCollection,
      unknown: newId,
      call: async (place, id) => contextOf(place, { query: `?question=beacon&collection_ids=${id}` }),
      neighbourRefusal: null,
    },
    'calculateContext body collection_ids': {
      ...someCollection,
      unknown: newId,
      call: async (place, id) => contextOf(place, { body: { question: 'beacon', collection_ids: id } }),
      neighbourRefusal: null,
    },
    'getDocument path space_id': spaceOf('GET', aDocument),
    'getDocument path collection_id': collectionIn(
      'GET',
      async (place, id) => `collections/${id}/documents/${await maker.documentOf(place, id)}`,
    ),
    'getDocument path document_id': remembering(documentIn('GET')),
    'getDocumentContent path space_id': spaceOf('GET', async (place) => `${await aDocument(place)}/content`),
    'getDocumentContent path collection_id': collectionIn(
      'GET',
      async (place, id) => `collections/${id}/documents/${await maker.documentOf(place, id)}/content`,
    ),
    'getDocumentContent path document_id': remembering(documentIn('GET', '/content')),
    'deleteDocument path space_id': spaceOf('DELETE', aDocument),
    'deleteDocument path collection_id': collectionIn(
      'DELETE',
      async (place, id) => `collections/${id}/documents/${await maker.documentOf(place, id)}`,
    ),
    'deleteDocument path document_id': remembering(documentIn('DELETE')),
  };
  return {
    ...native,
    ...connectorFixtures(maker),
    ...deletionFixtures(maker),
    ...sourceConnectionFixtures(maker),
    ...credentialFixtures(maker),
    ...embeddingFixtures(maker),
    ...rerankingFixtures(maker),
    ...threadFixtures(maker),
    ...openAiFixtures(maker),
    ...mirrored(native),
    ...connectionFixtures(maker),
    ...signInFixtures(maker),
    ...tenantFixtures(maker),
    ...adminFixtures(maker.admin, (place) => maker.model(place)),
  };
}

/** A valid request of the operation, on new resources of the place's owner. */
export async function goodCall(
  { fixtures, maker }: { fixtures: Fixtures; maker: Maker },
  operationId: string,
  place: Place,
): Promise<Call> {
  const whole =
    signInCalls(maker)[operationId] ??
    plainCalls[operationId] ??
    plainCredentialCalls[operationId] ??
    plainEmbeddingCalls[operationId] ??
    plainRerankingCalls[operationId] ??
    wholeCalls(maker.admin)[operationId] ??
    connectionCalls(maker)[operationId] ??
    deletionCalls[operationId] ??
    callsOutsideSpaces(maker)[operationId];
  if (whole !== undefined) {
    return whole(place);
  }
  const names = Object.keys(fixtures).filter((position) => position.startsWith(`${operationId} path `));
  const list = fixtures[`${operationId} query cursor`];
  if (names.length === 0 && list !== undefined) {
    const call = await list.call(place, await list.make(place));
    return { ...call, path: call.path.split('?')[0]! };
  }
  const fixture = fixtures[names.find((position) => position.endsWith(' space_id')) ?? names[0]!]!;
  return fixture.call(place, await fixture.make(place));
}
