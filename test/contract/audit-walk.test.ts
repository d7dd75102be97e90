import type { RouteOptions } from 'fastify';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openCallWorld, type CallWorld } from '../support/call-world.ts';
import type { Answer, Call } from '../support/gateway.ts';
import { certified } from '../support/deletion-fixtures.ts';
import { goodCall, idFixtures, type IdFixture } from '../support/id-fixtures.ts';
import { IdentityProviderServer } from '../support/identity-provider.ts';
import { Maker } from '../support/places.ts';
import { callProcedure, procedures } from '../support/procedures.ts';
import { SignInMaker } from '../support/sign-in-fixtures.ts';
import {
  callback,
  handleOf,
  registerProvider,
  startLogin,
  type RegisteredProvider,
} from '../support/sign-in.ts';
import { routesOf } from '../support/routes.ts';
import { assemble } from '#api/compose.ts';
import { gatewayConfig } from '../support/gateway.ts';

/** A success of an operation, and exactly the events that it writes. */
interface Success {
  /** The difference to the fixture's success. */
  when?: string;
  events: string[];
  /** Of a procedure: members laid over the fixture's input. */
  input?: Record<string, unknown>;
  /** Of a route: members laid over the fixture's body. */
  body?: Record<string, unknown>;
  /** Of a route: a separate call, derived from the fixture's call. */
  call?: (call: Call) => Promise<Call>;
}

const opened = [
  'security.api_key_created',
  'space.created',
  'space.models_updated',
  'system.model_added',
  'system.tenant_created',
  'system.tenant_created',
];
const arrived = 'security.principal_created';
const signedIn = 'security.login_succeeded';
const tools = 'space.mcp_tools_updated';
const server = 'space.mcp_server_updated';
const models = 'space.models_updated';
const rotated = 'security.credential_rotated';
const renamed = 'security.credential_updated';
const builtin = { models: ['builtin'], default_model: 'builtin' };

/**
 * Successes of operations that declare several events, or whose fixture does not lead to the declared one. An
 * operation that declares one event needs no line: its fixture's success must write it, alone and once.
 */
const successes: Record<string, Success[]> = {
  createResponse: [{ events: [] }],
  openAiCreateResponse: [{ events: [] }],
  startThread: [{ events: ['space.thread_created'] }],
  addMessage: [{ events: [] }],
  updateThread: [
    { events: [] },
    { when: 'it is put away', body: { status: 'archived' }, events: ['space.thread_archived'] },
  ],
  'threads.start': [{ events: ['space.thread_created'] }],
  'threads.addMessage': [{ events: [] }],
  'threads.update': [
    { events: [] },
    { when: 'it is put away', input: { status: 'archived' }, events: ['space.thread_archived'] },
  ],
  deleteResponse: [{ events: ['space.response_cancelled', 'space.response_deleted'] }],
  'responses.delete': [{ events: ['space.response_cancelled', 'space.response_deleted'] }],
  openAiDeleteResponse: [{ events: ['space.response_cancelled', 'space.response_deleted'] }],
  updateServer: [
    { events: [tools] },
    { when: 'it is renamed', body: { enabled_tools: undefined, display_name: 'Crane' }, events: [server] },
    { when: 'both change', body: { display_name: 'Winch' }, events: [server, tools] },
  ],
  'toolServers.update': [
    { events: [server, tools] },
    { when: 'it is renamed', input: { tools: undefined }, events: [server] },
  ],
  'tenants.create': [{ events: opened }],
  createTenant: [{ events: opened }],
  ...Object.fromEntries(
    ['updateCredential', 'updateTenantCredential'].map((id) => [
      id,
      [
        { events: [rotated] },
        { when: 'it is renamed', body: { value: undefined, name: `${id} 2` }, events: [renamed] },
        { when: 'both change', body: { name: `${id} 3` }, events: [rotated, renamed] },
      ],
    ]),
  ),
  'credentials.update': [{ events: [rotated, renamed] }],
  'tenantCredentials.update': [{ events: [rotated, renamed] }],
  resumeTenant: [
    {
      events: ['system.tenant_resumed'],
      call: async (call) => {
        await place.gateway.send({ ...call, path: call.path.replace(/resume$/, 'suspend') });
        return call;
      },
    },
  ],
  cancelTenantDeletion: [
    {
      events: ['system.tenant_deletion_cancelled'],
      call: async (call) => {
        const path = call.path.replace(/\/deletion\/cancel$/, '?reason_code=test_cleanup');
        await place.gateway.send({ ...call, method: 'DELETE', path });
        return call;
      },
    },
  ],
  getDeletionCertificate: [
    {
      events: [],
      call: async () => {
        const { path, headers } = await certified(place);
        return { method: 'GET', path, headers };
      },
    },
  ],
  setSpaceModels: [{ events: [models] }, { when: 'nothing changes', events: [] }],
  'spaces.setModels': [
    { when: 'others are allowed', input: builtin, events: [models] },
    { when: 'nothing changes', input: builtin, events: [] },
    { when: 'they are as before', events: [models] },
  ],
  updateEmbeddingModel: [
    { events: ['system.model_updated'] },
    { when: 'it is taken away', body: { disabled: true }, events: ['system.model_removed'] },
  ],
  updateRerankingModel: [
    { events: ['system.model_updated'] },
    { when: 'it is taken away', body: { disabled: true }, events: ['system.model_removed'] },
  ],
  ...Object.fromEntries(
    [
      ['updateConnector', 'body', []],
      // With another source, whose queued run replaces the one before.
      ['connectors.update', 'input', ['collection.sync_cancelled']],
    ].map(([id, where, cancelled]) => [
      id as string,
      [
        { events: ['collection.connector_updated', ...(cancelled as string[])] },
        {
          when: 'it is paused',
          [where as string]: { sync_schedule: undefined, credential_id: undefined, status: 'paused' },
          events: ['collection.connector_paused', 'collection.sync_cancelled'],
        },
      ],
    ]),
  ),
  ...Object.fromEntries(
    ['deleteConnector', 'connectors.delete'].map((id) => [
      id,
      [{ events: ['collection.connector_deleted', 'collection.sync_cancelled'] }],
    ]),
  ),
  updateModel: [
    {
      when: 'it is changed',
      body: { context_window: 90_001, disabled: undefined },
      events: ['system.model_updated'],
    },
    {
      when: 'it is changed and withdrawn',
      body: { context_window: 90_002, disabled: true },
      events: ['system.model_removed', 'system.model_updated'],
    },
  ],
  updateGovernance: [
    { when: 'a demand changes', body: { pii: { language: 'de' } }, events: ['space.governance_updated'] },
    { when: 'nothing changes', body: { pii: { language: 'de' } }, events: [] },
  ],
  'governance.update': [
    { when: 'a demand changes', input: { pii: { language: 'fr' } }, events: ['space.governance_updated'] },
    { when: 'nothing changes', input: { pii: { language: 'fr' } }, events: [] },
  ],
  updateIdentityProvider: [
    { events: ['security.identity_provider_changed'] },
    { when: 'nothing changes', body: { display_name: 'People' }, events: [] },
  ],
  startLogin: [
    { events: [], call: async () => ({ method: 'GET', path: `/v1/auth/oidc/${provider.slug}/start` }) },
  ],
  finishLogin: [
    { when: 'somebody new comes', events: [arrived], call: () => comingBack('ada') },
    { when: 'they come again', events: [], call: () => comingBack('ada') },
  ],
  createSession: [
    { when: 'somebody new brings a token', events: [arrived, signedIn], call: () => bringing('grace') },
    { when: 'they bring another', events: [signedIn], call: () => bringing('grace') },
    { when: 'a handle is redeemed', events: [signedIn], call: () => redeeming('grace') },
  ],
  refreshSession: [{ events: [] }],
  answerConnectionPopup: [{ events: [] }],
  finishConnectionPopup: [{ events: [] }],
  // An attempt of today does not belong to the address of earlier ones.
  finishEarlierPopup: [{ events: ['security.mcp_auth_failed'] }],
  initiateConnection: [{ events: ['security.mcp_auth_started'] }],
  'connections.initiate': [{ events: ['security.mcp_auth_started'] }],
  initiateConnectorConnection: [{ events: ['security.mcp_auth_started'] }],
  'connectors.connect': [{ events: ['security.mcp_auth_started'] }],
  deleteConnection: [{ events: ['security.mcp_auth_revoked'] }],
  'connections.disconnect': [{ events: ['security.mcp_auth_revoked'] }],
  deleteConnectorConnection: [{ events: ['security.mcp_auth_revoked'] }],
  'connectors.disconnect': [{ events: ['security.mcp_auth_revoked'] }],
  completeConnection: [{ events: ['security.mcp_auth_granted'] }],
  'connections.complete': [{ events: ['security.mcp_auth_granted'] }],
  signOut: [
    {
      events: ['security.logout'],
      call: async ({ method, path }) => {
        const { accessToken } = await new SignInMaker(maker).session(place.here);
        return { method, path, headers: { authorization: `Bearer ${accessToken}` } };
      },
    },
  ],
  deletePrincipal: [
    { events: ['security.principal_deleted'] },
    {
      when: 'its address is invited',
      events: ['security.principal_deleted', 'space.invite_revoked'],
      call: async (call) => {
        const { guest } = await maker.admin.invite(place.here);
        return { ...call, path: call.path.replace(/[^/]+$/, guest.principalId) };
      },
    },
  ],
  'principals.delete': [{ events: ['security.principal_deleted'] }],
  removeMember: [
    { events: ['space.member_removed'] },
    {
      when: 'its address is invited',
      events: ['space.invite_revoked', 'space.member_removed'],
      call: async (call) => {
        const { guest } = await maker.admin.invite(place.here);
        const adding = { ...call, method: 'POST', path: call.path.replace(/\/[^/]+$/, '') };
        const added = await place.gateway.send({ ...adding, body: { principal_id: guest.principalId } });
        return { ...call, path: `${adding.path}/${added.body.data.id}` };
      },
    },
  ],
  'members.remove': [{ events: ['space.member_removed'] }],
  createInvite: [{ events: ['space.invite_created'] }],
  'invites.create': [{ events: ['space.invite_created'] }],
  acceptInvite: [{ events: ['space.invite_accepted', 'space.member_added'] }],
  'invites.accept': [{ when: 'the invited person is a member', events: ['space.invite_accepted'] }],
  'models.disable': [
    { when: 'it is taken away', input: { disabled: true }, events: ['system.model_removed'] },
    { when: 'it comes back', input: { disabled: false }, events: ['system.model_updated'] },
  ],
  'embeddingModels.update': [
    { events: ['system.model_updated'] },
    {
      when: 'it is taken away',
      input: { disabled: true, credential_id: undefined, price: undefined },
      events: ['system.model_removed'],
    },
  ],
  'rerankingModels.update': [
    { events: ['system.model_updated'] },
    {
      when: 'it is taken away',
      input: { disabled: true, credential_id: undefined, price: undefined },
      events: ['system.model_removed'],
    },
  ],
  'events.export': [
    { events: ['security.events_exported'], input: { cursor: undefined } },
    { when: 'it goes on', events: [] },
  ],
  'responses.restart': [{ events: ['space.response_restarted'] }],
  'prices.import': [
    { when: 'no model has another price', events: [] },
    { when: 'a model has another price', events: ['system.model_updated'] },
  ],
};

/** The events of a new tenant are those of its parts. */
const opening = new Set(['tenants.create', 'createTenant']);

/** The events of a space with redaction: test/api/governance.test.ts covers them. */
const screened = ['security.pii_detected', 'security.content_blocked'];

/** Of a connector whose account is connected. */
const ofAccounts = ['security.mcp_auth_failed', 'security.mcp_auth_revoked'];
const ofReconnections = ['collection.connector_resumed', 'collection.sync_cancelled'];

/** Types that an operation declares but its fixture does not produce; another test or route does. */
const rarely: Record<string, string[]> = {
  // A source must answer, or an account be connected: the tests of connectors and of their connections cover it.
  ...Object.fromEntries(
    ['updateConnector', 'connectors.update'].map((id) => [
      id,
      ['collection.connector_resumed', 'collection.connector_auth_required', ...ofAccounts],
    ]),
  ),
  deleteConnector: ofAccounts,
  'connectors.delete': ofAccounts,
  initiateConnectorConnection: ['security.mcp_auth_failed'],
  'connectors.connect': ['security.mcp_auth_failed'],
  ...Object.fromEntries(
    ['deleteConnectorConnection', 'connectors.disconnect'].map((id) => [
      id,
      ['security.mcp_auth_failed', 'collection.connector_auth_required', 'collection.sync_cancelled'],
    ]),
  ),
  'invites.accept': ['space.member_added'],
  createInvite: ['space.invite_expired'],
  'invites.create': ['space.invite_expired'],
  deletePrincipal: ['space.invite_expired', 'security.mcp_auth_revoked'],
  removeMember: ['space.invite_expired', 'security.mcp_auth_revoked'],
  'members.remove': ['space.invite_revoked', 'space.invite_expired', 'security.mcp_auth_revoked'],
  'principals.delete': ['space.invite_revoked', 'space.invite_expired', 'security.mcp_auth_revoked'],
  createResponse: screened,
  openAiCreateResponse: screened,
  startThread: screened,
  addMessage: screened,
  'threads.start': screened,
  'threads.addMessage': screened,
  'responses.restart': ['security.pii_detected'],
  // Failed and stolen credentials: test/api/sign-in.test.ts covers them; test/api/provider-confirmation.test.ts the other.
  finishLogin: ['security.login_failed', 'security.identity_provider_unconfirmed'],
  // Denied, cancelled and failed attempts: test/api/connections.test.ts covers them.
  answerConnectionPopup: ['security.mcp_auth_failed'],
  finishConnectionPopup: ['security.mcp_auth_failed'],
  completeConnection: ['security.mcp_auth_failed', ...ofReconnections],
  'connections.complete': ['security.mcp_auth_failed', ...ofReconnections],
  initiateConnection: ['security.mcp_auth_failed'],
  'connections.initiate': ['security.mcp_auth_failed'],
  deleteConnection: ['security.mcp_auth_failed'],
  'connections.disconnect': ['security.mcp_auth_failed'],
  createSession: ['security.login_failed', 'security.identity_provider_unconfirmed'],
  refreshSession: ['security.refresh_reuse_detected'],
};

let place: CallWorld;
let maker: Maker;
let fixtures: Record<string, IdFixture>;
let people: IdentityProviderServer;
let provider: RegisteredProvider;

const config = gatewayConfig('postgres://nobody@127.0.0.1:1/none');
const unconnected = assemble(config);
const routes = await routesOf(unconnected);
await unconnected.close();
const calls = procedures();

beforeAll(async () => {
  people = await new IdentityProviderServer().start();
  place = await openCallWorld({ EGRESS_ALLOW: people.issuer });
  maker = new Maker(() => place.gateway);
  fixtures = idFixtures(maker);
  provider = await registerProvider(place.database, place.world, people);
});
afterAll(async () => {
  await place?.close();
  await people?.stop();
});

/** A browser on its way back from the provider. */
async function comingBack(sub: string): Promise<Call> {
  const { address, cookie } = await startLogin(place.gateway, provider.slug);
  const { pathname, search } = new URL(people.authorize(address, sub));
  return { method: 'GET', path: pathname.replace(/^\/api/, '') + search, headers: { cookie } };
}

const atSession = { method: 'POST', path: '/v1/auth/oidc/session' };

async function bringing(sub: string): Promise<Call> {
  const { nonce } = await startLogin(place.gateway, provider.slug);
  const idToken = await people.idToken({ nonce, sub, clientId: provider.clientId });
  return { ...atSession, body: { provider_id: provider.slug, id_token: idToken } };
}

async function redeeming(sub: string): Promise<Call> {
  const { address, cookie } = await startLogin(place.gateway, provider.slug);
  const back = await callback(place.gateway, people.authorize(address, sub), cookie);
  return { ...atSession, headers: { cookie }, body: { handle: handleOf(back) } };
}

type Audit = readonly string[] | { none: string } | undefined;
const declared = (audit: Audit): readonly string[] => (audit === undefined || 'none' in audit ? [] : audit);

function successesOf(id: string, audit: Audit): Success[] {
  const types = declared(audit);
  const listed = successes[id];
  if (listed === undefined && types.length > 1) {
    throw new Error(`${id} declares several events: say here what each of its successes writes.`);
  }
  return listed ?? [{ events: [...types] }];
}

interface Written {
  event_type: string;
  actor_id: string;
  request_id: string;
  via: string;
  ip: string | null;
  tenant_id: string;
}

/** Runs one call and returns the events that it wrote. */
async function watch(call: () => Promise<Answer>): Promise<{ answer: Answer; written: Written[] }> {
  const { rows: known } = await place.admin.query<{ xmin: string }>(
    'select coalesce(max(transaction_id), $1::xid8)::text as xmin from events',
    ['0'],
  );
  const answer = await call();
  const { rows } = await place.admin.query<Written>(
    `select event_type, actor_id, tenant_id, metadata ->> 'request_id' as request_id, metadata ->> 'via' as via, metadata ->> 'ip' as ip
     from events where transaction_id > $1::xid8 order by event_type`,
    [known[0]!.xmin],
  );
  return { answer, written: rows };
}

async function judge(success: Success, call: () => Promise<Answer>): Promise<void> {
  const { answer, written } = await watch(call);
  expect(answer.status, answer.text).toBeGreaterThanOrEqual(200);
  // A form leads on with 303.
  expect(answer.status, answer.text).toBeLessThan(400);
  expect(written.map(({ event_type: type }) => type)).toEqual([...success.events].sort());
  for (const event of written) {
    expect(event).toMatchObject({ via: 'api', request_id: answer.headers['x-request-id'] });
    expect(event.actor_id).toMatch(/^[0-9a-f-]{36}$/);
  }
}

async function restCall(route: RouteOptions, success: Success): Promise<Call> {
  const id = route.schema!.operationId!;
  const call = await goodCall({ fixtures, maker }, id, place.here);
  if (success.call !== undefined) {
    return success.call(call);
  }
  return success.body === undefined ? call : { ...call, body: { ...(call.body as object), ...success.body } };
}

describe('a success of an operation writes exactly the events that are listed for it', () => {
  it.each(
    routes.flatMap((route) =>
      successesOf(route.schema!.operationId!, route.config!.audit).map(
        (success) => [route.schema!.operationId!, success.when ?? 'it is called', route, success] as const,
      ),
    ),
  )('%s, when %s', async (_id, _when, route, success) => {
    const call = await restCall(route, success);
    await judge(success, () => place.gateway.send(call));
  });

  it.each(
    calls.flatMap((procedure) =>
      successesOf(procedure.path, procedure.declared?.audit).map(
        (success) => [procedure.path, success.when ?? 'it is called', procedure, success] as const,
      ),
    ),
  )('%s, when %s', async (path, when, procedure, success) => {
    const input = { ...(await place.fixtures[path]!.input(place.here)), ...success.input };
    if (path === 'prices.import') {
      await place.admin.query(`update models set provider_kind = 'openai', provider_model = 'other'`);
      await place.admin.query(`update models set provider_model = $2 where alias = $1`, [
        place.here.modelAlias,
        when === 'a model has another price' ? 'gpt-5-mini' : 'other',
      ]);
    }
    const proof = await place.proofFor(procedure, place.here);
    await judge(success, () => callProcedure(place.gateway, { procedure, input, ...proof }));
  });
});

describe('the declaration of an operation', () => {
  it('names each event that one of its successes writes, and no other', () => {
    const all = [
      ...routes.map((route) => [route.schema!.operationId!, route.config!.audit] as const),
      ...calls.map(({ path, declared: declaration }) => [path, declaration?.audit] as const),
    ];
    const wrong = all.flatMap(([id, audit]) => {
      const written = new Set(successesOf(id, audit).flatMap(({ events }) => events));
      const own = opening.has(id) ? ['system.tenant_created'] : [...written];
      const never = declared(audit).filter((type) => !written.has(type) && !rarely[id]?.includes(type));
      const undeclared = own.filter((type) => !declared(audit).includes(type));
      return [
        ...never.map((type) => `${id} never ${type}`),
        ...undeclared.map((type) => `${id} also ${type}`),
      ];
    });
    expect(wrong).toEqual([]);
    const known = new Set(all.map(([id]) => id));
    expect(Object.keys(successes).filter((id) => !known.has(id))).toEqual([]);
  });
});

describe('an event of a request', () => {
  it('holds the client’s address under the actor’s key', async () => {
    const route = routes.find(({ schema }) => schema!.operationId === 'createCollection')!;
    const call = await restCall(route, { events: [] });
    const { written } = await watch(() => place.gateway.send(call));
    expect(written).toHaveLength(1);
    expect(written[0]!.ip).toMatch(/^v1\|/);
    const page = await place.gateway.send({
      method: 'GET',
      path: '/v1/events?limit=1',
      apiKey: place.here.apiKey,
    });
    expect(page.body.data[0]).toMatchObject({
      event_type: 'collection.created',
      metadata: { ip: '127.0.0.1', request_id: expect.any(String) },
    });
  });
});
