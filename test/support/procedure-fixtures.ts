import { randomBytes } from 'node:crypto';
import type { Client } from 'pg';
import { newId, newResponseId } from '#domain/foundation/kernel/ids.ts';
import { finishIngestion } from '#domain/knowledge/ingestion/finish-ingestion.ts';
import { createSpace } from '#domain/workspace/spaces/create-space.ts';
import { applyDiscovery } from '#domain/capabilities/tools/apply-discovery.ts';
import { toHistoryCursor } from '#domain/operations/workflows/history-cursor.ts';
import { deletionProcedures } from './deletion-fixtures.ts';
import { adminProcedures } from './admin-procedures.ts';
import { embeddingProcedures } from './embedding-fixtures.ts';
import { rerankingProcedures } from './reranking-fixtures.ts';
import { connectionProcedures } from './connection-fixtures.ts';
import { connectorProcedures } from './connector-procedures.ts';
import { sourceConnectionProcedures } from './source-connection-fixtures.ts';
import { credentialProcedures } from './credential-procedures.ts';
import type { TestDatabase } from './database.ts';
import { signInProcedures } from './sign-in-fixtures.ts';
import type { Maker, Place } from './places.ts';
import { beginThread } from './thread-fixtures.ts';
import { addMember, secrets, type World } from './world.ts';

/** The test of a procedure. */
export interface ProcedureFixture {
  /** A valid input, on new resources of the place's owner. */
  input(place: Place): Promise<Record<string, unknown>>;
  /** The members that hold an id, with an id of that form and the code of its refusal. */
  ids: Record<string, { unknown(): string; code: string }>;
  /**
   * Whether it uses resources of its caller only: its input is then created with the caller's key in the
   * place.
   */
  personal?: true;
  /** The access token for the call, where a key is not accepted. */
  token?(place: Place): Promise<string>;
  /** Whether only an operator of the platform may call it. */
  operator?: true;
}

const space = { unknown: newId, code: '404 space_not_found' };
const cursor = { unknown: () => 'eyJ4Ijox.eA', code: '422 invalid_cursor' };
const alias = { unknown: () => `model-${newId()}`, code: '404 model_not_found' };
const tenant = { unknown: newId, code: '404 tenant_not_found' };
const response = { unknown: newResponseId, code: '404 response_not_found' };
const principal = { unknown: newId, code: '404 principal_not_found' };
const collection = { unknown: newId, code: '404 collection_not_found' };
const document = { unknown: newId, code: '404 document_not_found' };
const server = { unknown: newId, code: '404 mcp_server_not_found' };
const thread = { unknown: newId, code: '404 thread_not_found' };
const project = { unknown: newId, code: '404 project_not_found' };
const skill = { unknown: newId, code: '404 skill_not_found' };
const version = { unknown: newId, code: '404 skill_version_not_found' };
const notification = { unknown: newId, code: '404 notification_not_found' };
const slug = () => `made-${randomBytes(6).toString('hex')}`;
const price = { input: '2.5', output: '10' };

export interface FixtureParts {
  database: TestDatabase;
  admin: Client;
  maker: Maker;
  /** The world of each place's tenant. */
  worldOf(place: Place): World;
  /** A cursor after the first entry of a list of the place. */
  cursorOf(place: Place, path: string, input: object): Promise<string>;
}

export function procedureFixtures(parts: FixtureParts): Record<string, ProcedureFixture> {
  const { maker, admin, database } = parts;
  const member = async (place: Place) =>
    addMember(database.unitOfWork, parts.worldOf(place), { spaceRole: null });
  const failed = async (place: Place): Promise<string> => {
    const id = await maker.response(place);
    await admin.query(
      `update responses set status = 'failed', finished_at = now(),
         failure = '{"code":"model_error","type":"server_error","message":"The model failed.","param":null}' where id = $1`,
      [id],
    );
    return id;
  };
  const inCollection = async (place: Place) => ({
    space_id: place.spaceId,
    collection_id: await maker.collection(place),
  });
  const aDocument = async (place: Place) => {
    const ref = await inCollection(place);
    return { ...ref, document_id: await maker.document(place, ref.collection_id) };
  };
  /** A server whose only tool has been listed. */
  const aServer = async (place: Place) => {
    const { id } = await maker.server(place);
    const tool = {
      name: 'lift',
      title: null,
      description: 'Lifts.',
      inputSchema: {},
      outputSchema: null,
      annotations: null,
    };
    await database.unitOfWork.inTenant(place.tenantId, (em) => applyDiscovery(em, id, { tools: [tool] }));
    return { space_id: place.spaceId, server_id: id };
  };
  const aSkill = async (place: Place) => ({ skill_id: await maker.skill(place) });
  const aDraft = async (place: Place) => {
    const ref = await aSkill(place);
    return { ...ref, version_id: await maker.skillVersion(place, ref.skill_id) };
  };
  const aPublished = async (place: Place) => {
    const ref = await aDraft(place);
    await maker.publish(place, ref);
    return ref;
  };
  const traced = async (place: Place) => {
    await maker.observability(place);
    return { space_id: place.spaceId };
  };
  const inSpace = async (place: Place) => ({ space_id: place.spaceId });
  const aThread = async (place: Place) => ({
    space_id: place.spaceId,
    thread_id: (await beginThread(maker, place)).thread_id,
  });
  const ofResponse = async (place: Place) => ({ response_id: await maker.response(place) });
  const workflow = {
    input: async (place: Place) => ({
      workflow_id: `response/${place.tenantId}/${await maker.response(place)}`,
    }),
    ids: {
      workflow_id: {
        unknown: () => `response/${newId()}/${newResponseId()}`,
        code: '404 workflow_not_found',
      },
    },
  };
  const listed = (path: string, twice: (place: Place) => Promise<unknown>) => ({
    input: async (place: Place) => {
      await twice(place);
      await twice(place);
      return { limit: 1, cursor: await parts.cursorOf(place, path, {}) };
    },
    ids: { cursor },
  });
  const documentIds = { space_id: space, collection_id: collection, document_id: document };
  const ofModel = async (place: Place) => ({ alias: place.modelAlias });
  const abroad = async (place: Place) => ({ tenant_id: place.tenantId, alias: place.modelAlias });

  const aKey: ProcedureFixture = {
    input: async (place) => ({ key_id: (await member(place)).keyId }),
    ids: { key_id: { unknown: () => '0'.repeat(16), code: '404 api_key_not_found' } },
  };
  const anEvent = async (place: Place) => {
    const { rows } = await admin.query<{ id: string }>(
      'select max(id::text) as id from events where tenant_id = $1',
      [place.tenantId],
    );
    return { event_id: rows[0]!.id };
  };

  return {
    'events.list': {
      input: async (place) => ({ limit: 1, cursor: await parts.cursorOf(place, 'events.list', {}) }),
      ids: { cursor },
    },
    'events.get': {
      input: anEvent,
      ids: { event_id: { unknown: newId, code: '404 event_not_found' } },
    },
    'events.export': {
      input: async (place) => ({ limit: 1, cursor: await parts.cursorOf(place, 'events.export', {}) }),
      ids: { cursor },
    },
    'responses.list': {
      input: async (place) => {
        await maker.response(place);
        await maker.response(place);
        const input = { space_id: place.spaceId, limit: 1 };
        return { ...input, cursor: await parts.cursorOf(place, 'responses.list', input) };
      },
      ids: { space_id: space, cursor },
    },
    'responses.inspect': { input: ofResponse, ids: { response_id: response } },
    'responses.inputItems': {
      input: async (place) => {
        const ref = await ofResponse(place);
        return { ...ref, limit: 1, cursor: await parts.cursorOf(place, 'responses.inputItems', ref) };
      },
      ids: { response_id: response, cursor },
    },
    'responses.delete': { input: ofResponse, ids: { response_id: response } },
    'responses.cancel': { input: ofResponse, ids: { response_id: response } },
    'responses.restart': {
      input: async (place) => ({ response_id: await failed(place) }),
      ids: { response_id: response },
    },
    'workflows.describe': workflow,
    'workflows.history': {
      input: async (place) => {
        const input = await workflow.input(place);
        const of = { tenantId: place.tenantId, workflowId: input.workflow_id };
        return { ...input, cursor: toHistoryCursor(secrets, of, { runId: newId(), afterEvent: 1 }) };
      },
      ids: { ...workflow.ids, cursor },
    },
    'tenants.list': {
      operator: true,
      input: async (place) => ({ limit: 1, cursor: await parts.cursorOf(place, 'tenants.list', {}) }),
      ids: { cursor },
    },
    'tenants.get': { input: async ({ tenantId }) => ({ tenant_id: tenantId }), ids: { tenant_id: tenant } },
    'tenants.create': { operator: true, input: async () => ({ slug: slug(), name: 'Made' }), ids: {} },
    'tenants.suspend': {
      operator: true,
      input: async ({ tenantId }) => ({ tenant_id: tenantId }),
      ids: { tenant_id: tenant },
    },
    'tenants.resume': {
      operator: true,
      input: async ({ tenantId }) => ({ tenant_id: tenantId }),
      ids: { tenant_id: tenant },
    },
    'spaces.list': listed('spaces.list', (place) =>
      database.unitOfWork.inTenant(place.tenantId, (em) =>
        createSpace(em, parts.worldOf(place).owner, { name: 'Quay' }),
      ),
    ),
    'spaces.create': { input: async () => ({ name: 'Quay' }), ids: {} },
    'spaces.models': { input: inSpace, ids: { space_id: space } },
    'spaces.setModels': {
      input: async (place) => ({
        space_id: place.spaceId,
        models: [place.modelAlias],
        default_model: place.modelAlias,
      }),
      ids: { space_id: space, 'models[]': alias },
    },
    'members.add': {
      input: async (place) => ({
        space_id: place.spaceId,
        principal_id: (await member(place)).principalId,
        role_id: await maker.admin.role(place),
      }),
      ids: {
        space_id: space,
        principal_id: principal,
        role_id: { unknown: newId, code: '404 role_not_found' },
      },
    },
    'members.remove': {
      input: async (place) => ({
        space_id: place.spaceId,
        principal_id: (await addMember(database.unitOfWork, { ...parts.worldOf(place), ...place }))
          .principalId,
      }),
      ids: { space_id: space, principal_id: { unknown: newId, code: '404 member_not_found' } },
    },
    ...deletionProcedures(maker),
    ...adminProcedures({
      maker: maker.admin,
      admin,
      ownerOf: (place) => parts.worldOf(place).owner.principalId,
      cursorOf: (place, path, input) => parts.cursorOf(place, path, input),
    }),
    'principals.list': listed('principals.list', member),
    'principals.create': { input: async () => ({ type: 'service_account', name: 'crane' }), ids: {} },
    'apiKeys.list': listed('apiKeys.list', member),
    'apiKeys.create': {
      input: async (place) => ({ principal_id: (await member(place)).principalId, name: 'crane' }),
      ids: { principal_id: principal },
    },
    'apiKeys.get': aKey,
    'apiKeys.revoke': aKey,
    ...signInProcedures(maker, (path, twice) => listed(path, twice)),
    'models.list': {
      input: async (place) => ({ limit: 1, cursor: await parts.cursorOf(place, 'models.list', {}) }),
      ids: { cursor, tenant_id: tenant },
    },
    'models.get': { input: ofModel, ids: { alias, tenant_id: tenant } },
    'models.disable': {
      input: async (place) => ({ ...(await ofModel(place)), disabled: false }),
      ids: { alias },
    },
    'prices.list': { input: ofModel, ids: { alias, tenant_id: tenant } },
    'prices.set': {
      operator: true,
      input: async (place) => ({ ...(await abroad(place)), price }),
      ids: { tenant_id: tenant, alias },
    },
    'prices.import': {
      operator: true,
      input: async ({ tenantId }) => ({
        tenant_id: tenantId,
        document: {
          'gpt-5-mini': {
            litellm_provider: 'openai',
            input_cost_per_token: 2.5e-7,
            output_cost_per_token: 2e-6,
          },
        },
      }),
      ids: { tenant_id: tenant },
    },
    'collections.list': {
      input: async (place) => {
        await maker.collection(place);
        await maker.collection(place);
        const input = { space_id: place.spaceId, limit: 1 };
        return { ...input, cursor: await parts.cursorOf(place, 'collections.list', input) };
      },
      ids: { space_id: space, cursor },
    },
    'collections.get': { input: inCollection, ids: { space_id: space, collection_id: collection } },
    'collections.create': {
      input: async (place) => ({ space_id: place.spaceId, name: 'Tides', enforce_source_readers: true }),
      ids: { space_id: space },
    },
    'collections.update': {
      input: async (place) => ({
        ...(await inCollection(place)),
        name: 'Tides',
        enforce_source_readers: false,
      }),
      ids: { space_id: space, collection_id: collection },
    },
    'collections.delete': { input: inCollection, ids: { space_id: space, collection_id: collection } },
    'documents.list': {
      input: async (place) => {
        const ref = await inCollection(place);
        await maker.document(place, ref.collection_id);
        await maker.document(place, ref.collection_id);
        const input = { ...ref, limit: 1 };
        return { ...input, cursor: await parts.cursorOf(place, 'documents.list', input) };
      },
      ids: { space_id: space, collection_id: collection, cursor },
    },
    'documents.get': { input: aDocument, ids: documentIds },
    'documents.passages': {
      input: async (place) => {
        const ref = await inCollection(place);
        const document_id = await maker.readDocument(place, ref.collection_id);
        const input = { ...ref, document_id, limit: 1 };
        return { ...input, cursor: await parts.cursorOf(place, 'documents.passages', input) };
      },
      ids: { ...documentIds, cursor },
    },
    'documents.upload': {
      input: async (place) => ({
        ...(await inCollection(place)),
        filename: 'tides.txt',
        media_type: 'text/plain',
        content: 'High water is at noon.',
      }),
      ids: { space_id: space, collection_id: collection },
    },
    'documents.delete': { input: aDocument, ids: documentIds },
    'knowledge.search': {
      input: async (place) => ({
        space_id: place.spaceId,
        query: 'When is high water?',
        collection_ids: [await maker.collection(place)],
      }),
      ids: { space_id: space, 'collection_ids[]': collection },
    },
    'threads.list': {
      input: async (place) => {
        const of = { project_id: await maker.admin.project(place) };
        await beginThread(maker, place, of);
        await beginThread(maker, place, of);
        const input = { space_id: place.spaceId, ...of, limit: 1 };
        return { ...input, cursor: await parts.cursorOf(place, 'threads.list', input) };
      },
      ids: { space_id: space, project_id: project, cursor },
    },
    'threads.get': { input: aThread, ids: { space_id: space, thread_id: thread } },
    'threads.messages': {
      input: async (place) => {
        const begun = await beginThread(maker, place);
        const ref = { space_id: place.spaceId, thread_id: begun.thread_id };
        const path = `/v1/spaces/${place.spaceId}/threads/${begun.thread_id}/messages`;
        await maker.send({ method: 'POST', path, apiKey: place.apiKey, body: { content: 'More' } });
        const input = { ...ref, branch_id: begun.branch_id, limit: 1 };
        return { ...input, cursor: await parts.cursorOf(place, 'threads.messages', input) };
      },
      ids: {
        space_id: space,
        thread_id: thread,
        branch_id: { unknown: newId, code: '404 branch_not_found' },
        cursor,
      },
    },
    'threads.start': {
      input: async (place) => ({
        space_id: place.spaceId,
        content: 'Hello',
        title: 'Tides',
        project_id: await maker.admin.project(place),
      }),
      ids: { space_id: space, project_id: project },
    },
    'threads.addMessage': {
      input: async (place) => {
        const begun = await beginThread(maker, place);
        return {
          space_id: place.spaceId,
          thread_id: begun.thread_id,
          content: 'More',
          branch_id: begun.branch_id,
          parent_message_id: begun.id,
        };
      },
      ids: {
        space_id: space,
        thread_id: thread,
        branch_id: { unknown: newId, code: '404 branch_not_found' },
        parent_message_id: { unknown: newId, code: '404 message_not_found' },
      },
    },
    'threads.update': {
      input: async (place) => ({ ...(await aThread(place)), title: 'Tides' }),
      ids: { space_id: space, thread_id: thread },
    },
    'threads.delete': { input: aThread, ids: { space_id: space, thread_id: thread } },
    'governance.get': { input: inSpace, ids: { space_id: space } },
    'governance.update': {
      input: async (place) => ({ space_id: place.spaceId, pii: { mode: 'off' } }),
      ids: { space_id: space },
    },
    'toolServers.list': {
      input: async (place) => {
        await maker.server(place);
        await maker.server(place);
        const input = { space_id: place.spaceId, limit: 1 };
        return { ...input, cursor: await parts.cursorOf(place, 'toolServers.list', input) };
      },
      ids: { space_id: space, cursor },
    },
    'toolServers.update': {
      input: async (place) => ({
        ...(await aServer(place)),
        display_name: 'Crane',
        credential_id: await maker.credential(place),
        tools: [{ name: 'lift', require_approval: true }],
      }),
      ids: {
        space_id: space,
        server_id: server,
        credential_id: { unknown: newId, code: '422 invalid_request' },
      },
    },
    ...connectionProcedures(parts),
    ...connectorProcedures(parts),
    ...sourceConnectionProcedures(parts),
    ...credentialProcedures(parts),
    ...embeddingProcedures(parts),
    ...rerankingProcedures(parts),
    ...Object.fromEntries(
      ['get', 'discover', 'remove'].map((verb) => [
        `toolServers.${verb}`,
        { input: aServer, ids: { space_id: space, server_id: server } },
      ]),
    ),
    'skills.list': listed('skills.list', (place) => maker.skill(place)),
    'skills.create': { input: async () => ({ name: slug() }), ids: {} },
    'skills.update': {
      input: async (place) => ({ ...(await aSkill(place)), name: slug() }),
      ids: { skill_id: skill },
    },
    'skills.get': { input: aSkill, ids: { skill_id: skill } },
    'skills.delete': { input: aSkill, ids: { skill_id: skill } },
    'skillVersions.list': {
      input: async (place) => {
        const ref = await aDraft(place);
        await maker.skillVersion(place, ref.skill_id);
        const input = { skill_id: ref.skill_id, limit: 1 };
        return { ...input, cursor: await parts.cursorOf(place, 'skillVersions.list', input) };
      },
      ids: { skill_id: skill, cursor },
    },
    'skillVersions.draft': {
      input: async (place) => ({
        ...(await aSkill(place)),
        instructions: 'Answer in rhymes.',
        allowed_tools: ['mcp__crm__*'],
      }),
      ids: { skill_id: skill },
    },
    'skillVersions.edit': {
      input: async (place) => ({ ...(await aDraft(place)), instructions: 'Answer in prose.' }),
      ids: { skill_id: skill, version_id: version },
    },
    'skillVersions.get': { input: aDraft, ids: { skill_id: skill, version_id: version } },
    'skillVersions.publish': { input: aDraft, ids: { skill_id: skill, version_id: version } },
    'skillVersions.deprecate': { input: aPublished, ids: { skill_id: skill, version_id: version } },
    'observability.get': { input: traced, ids: { space_id: space } },
    'observability.remove': { input: traced, ids: { space_id: space } },
    'observability.set': {
      input: async ({ spaceId }) => ({
        space_id: spaceId,
        tracing_public_key: 'pk-tracing',
        tracing_secret_key: 'sk-tracing',
      }),
      ids: { space_id: space },
    },
    'notifications.list': {
      personal: true,
      input: async (place) => ({ limit: 1, cursor: await maker.notificationCursor(place) }),
      ids: { cursor },
    },
    'notifications.unreadCount': { personal: true, input: async () => ({}), ids: {} },
    'notifications.readAll': { personal: true, input: async () => ({}), ids: {} },
    ...Object.fromEntries(
      ['get', 'read'].map((verb) => [
        `notifications.${verb}`,
        {
          personal: true as const,
          input: async (place: Place) => ({ notification_id: await maker.notification(place) }),
          ids: { notification_id: notification },
        },
      ]),
    ),
    'documents.retry': {
      input: async (place) => {
        const ref = await aDocument(place);
        await database.unitOfWork.inTenant(place.tenantId, (em) =>
          finishIngestion(em, ref.document_id, 'extraction_failed'),
        );
        return ref;
      },
      ids: documentIds,
    },
  };
}
