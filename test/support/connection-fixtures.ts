import { newId } from '#domain/foundation/kernel/ids.ts';
import { hashFor, newSecret } from '#domain/capabilities/connections/attempt-secrets.ts';
import { attemptPlace } from '#domain/capabilities/connections/authorization-attempt.entity.ts';
import { sealField } from '#domain/foundation/secrets/seal-field.ts';
import type { Call } from './gateway.ts';
import type { IdFixture } from './id-fixtures.ts';
import type { Maker, Place } from './places.ts';
import { formIn, Popup } from './popup.ts';
import type { ProcedureFixture } from './procedure-fixtures.ts';
import { callAt, spaceFixtures } from './space-fixtures.ts';
import { secrets } from './world.ts';

/** The page of the gateway under test. */
export const donePage = 'http://127.0.0.1:8080/api/v1/mcp-auth/done';

/** Opened by a browser with the nonce or state of one attempt; test/api/connections.test.ts covers them. */
export const ofPopups = [
  'openConnectionPopup',
  'answerConnectionPopup',
  'finishConnectionPopup',
  'endConnectionPopup',
  'showConnectPage',
  'getClientDocument',
  'finishEarlierPopup',
  'getEarlierClientDocument',
] as const;

/** Free text of operations that contains no id. */
export const connectionText = [
  'initiateConnection query redirect_uri',
  'registerServer body connection_resource',
  'updateServer body connection_resource',
];

export const connectionProcedureText = [
  'connections.initiate redirect_uri',
  'toolServers.register connection_resource',
  'toolServers.update connection_resource',
  // An id that cannot stand beside the credential_id of their fixtures: those of the operations are tried.
  'toolServers.register client_credential_id',
  'toolServers.update client_credential_id',
];

const serverUrl = 'https://tools.example.com/mcp';
const space = { unknown: newId, code: '404 space_not_found' };
const server = { unknown: newId, code: '404 mcp_server_not_found' };

/** Makes connections in a place. */
export class ConnectionMaker {
  readonly #maker: Maker;

  constructor(maker: Maker) {
    this.#maker = maker;
  }

  /** A server with a shared connection, which each member of the space sees. */
  async connected(place: Place): Promise<string> {
    const serverId = await this.#maker.connectionServer(place, 'shared');
    await this.#insert(
      place,
      serverId,
      `insert into mcp_connections
      (tenant_id, id, server_id, space_id, connected_by, status, issuer, target)
      select tenant_id, gen_random_uuid(), ?::uuid, ?::uuid, principal_id, 'connected', 'https://login.example.com', '{}'
      from api_keys where key_id = ?`,
    );
    return serverId;
  }

  /** The handle of an attempt that waits for the holder of the place's key. */
  async handle(place: Place): Promise<string> {
    const handle = `mh.${newSecret()}`;
    const [id, serverId] = [newId(), newId()];
    const { tenantId, spaceId } = place;
    const target = {
      tenantId,
      issuer: 'https://login.example.com',
      resource: serverUrl,
      scope: null,
      dpopAlg: null,
      acceptsClientDocuments: false,
      registersClients: true,
      metadata: { issuer: 'https://login.example.com' },
    };
    await this.#maker.unitOfWork.inTenant(tenantId, async (em) => {
      // Not every holder of a key may register a server.
      await em.execute(
        `insert into mcp_servers (tenant_id, id, space_id, slug, display_name, url, connection_mode, created_by)
         select tenant_id, ?::uuid, id, ?, 'Tools', ?, 'personal', (select min(p.id::text)::uuid from principals p)
         from spaces where id = ?`,
        [serverId, `s-${serverId.slice(-12)}`, serverUrl, spaceId],
      );
      const clientId = newId();
      await em.execute(
        `insert into authorization_clients (tenant_id, id, issuer, redirect_uri, kind, client_id)
         values (?, ?, ?, ?, 'dynamic', 'client')`,
        [tenantId, clientId, target.issuer, `https://platform.example.com/${id}`],
      );
      const seal = (column: 'verifier' | 'code') =>
        sealField({ em, secrets }, attemptPlace({ tenantId, id }, column), 'x'.repeat(43));
      await em.execute(
        `insert into authorization_attempts (tenant_id, id, server_id, space_id, initiator_id, api_key_id, owner_id,
           redirect_uri, callback_uri, issuer, target, client_id, nonce_hash, handle_hash, verifier, code, stage,
           expires_at, handle_expires_at)
         select tenant_id, ?::uuid, ?::uuid, ?::uuid, principal_id, id, principal_id, ?, ?, ?, ?::jsonb, ?::uuid, ?, ?, ?, ?,
           'returned', now() + interval '10 minutes', now() + interval '10 minutes'
         from api_keys where key_id = ?`,
        [
          id,
          serverId,
          spaceId,
          donePage,
          donePage,
          target.issuer,
          JSON.stringify(target),
          clientId,
          newSecret(),
          hashFor(secrets, 'handle', handle),
          await seal('verifier'),
          await seal('code'),
          place.apiKey.split('.')[1],
        ],
      );
    });
    return handle;
  }

  /** A client that is registered with the server's authorization server. */
  async client(place: Place): Promise<string> {
    const body = {
      name: `client-${newId()}`,
      kind: 'oauth2_client',
      origin: 'https://tools.example.com',
      value: { client_id: 'c', client_secret: 's', token_url: 'https://login.example.com/token' },
    };
    const made = await this.#maker.send(callAt(place, 'POST', 'credentials', { body }));
    return made.body.data.id as string;
  }

  async #insert(place: Place, serverId: string, sql: string): Promise<void> {
    await this.#maker.unitOfWork.inTenant(place.tenantId, (em) =>
      em.execute(sql, [serverId, place.spaceId, place.apiKey.split('.')[1]]),
    );
  }
}

const initiate = ({ apiKey }: Place, id: string): Call => ({
  method: 'POST',
  path: `/v1/mcp-auth/${id}/initiate?redirect_uri=${encodeURIComponent(donePage)}`,
  apiKey,
});

const complete = ({ apiKey }: Place, handle: string): Call => ({
  method: 'POST',
  path: '/v1/mcp-auth/complete',
  apiKey,
  body: { handle },
});

/** Operations on connections that no fixture of a path makes right. */
export function connectionCalls(maker: Maker): Record<string, (place: Place) => Promise<Call>> {
  const connections = new ConnectionMaker(maker);
  const popup = async (place: Place): Promise<{ browser: Popup; url: string }> => {
    const begun = await maker.send(initiate(place, await maker.connectionServer(place, 'personal')));
    return { browser: new Popup(maker), url: begun.body.data.popup_url as string };
  };
  return {
    completeConnection: async (place) => complete(place, await connections.handle(place)),
    openConnectionPopup: async (place) => {
      const { pathname, search } = new URL((await popup(place)).url);
      return { method: 'GET', path: pathname.replace(/^\/api/, '') + search };
    },
    answerConnectionPopup: async (place) => {
      const { browser, url } = await popup(place);
      const { fields } = formIn((await browser.open(url)).text);
      return {
        method: 'POST',
        path: '/v1/mcp-auth/start',
        headers: { cookie: browser.cookie },
        body: { ...fields, decision: 'continue' },
      };
    },
    finishConnectionPopup: async (place) => {
      const { browser, url } = await popup(place);
      const state = (await browser.decide(url, 'continue')).searchParams.get('state')!;
      return {
        method: 'GET',
        path: `${browser.callback.replace(/^.*?\/api/, '')}?${new URLSearchParams({ state, code: 'code' }).toString()}`,
        headers: { cookie: browser.cookie },
      };
    },
    finishEarlierPopup: async (place) => {
      const { browser, url } = await popup(place);
      const state = (await browser.decide(url, 'continue')).searchParams.get('state')!;
      return {
        method: 'GET',
        path: `/v1/mcp-auth/callback?${new URLSearchParams({ state, code: 'code' }).toString()}`,
        headers: { cookie: browser.cookie },
      };
    },
    endConnectionPopup: async () => ({ method: 'GET', path: '/v1/mcp-auth/done' }),
    showConnectPage: async () => ({ method: 'GET', path: `/v1/mcp-auth/connect?server_id=${newId()}` }),
    getClientDocument: async () => ({
      method: 'GET',
      path: `/v1/mcp-auth/clients/${'k'.repeat(22)}/client.json`,
    }),
    getEarlierClientDocument: async () => ({ method: 'GET', path: '/v1/mcp-auth/client.json' }),
  };
}

export function connectionFixtures(maker: Maker): Record<string, IdFixture> {
  const { spaceOf, cursorOf } = spaceFixtures(maker);
  const connections = new ConnectionMaker(maker);
  const path = (suffix: string) => async (place: Place) =>
    `mcp-servers/${await connections.connected(place)}/${suffix}`;
  const serverIn = (method: string, suffix: string): IdFixture => ({
    make: (place) => connections.connected(place),
    unknown: newId,
    call: async (place, id) => callAt(place, method, `mcp-servers/${id}/${suffix}`),
    refusal: '404 mcp_server_not_found',
  });
  const client = (call: IdFixture['call']): IdFixture => ({
    make: (place) => connections.client(place),
    gone: async (place) => {
      const id = await connections.client(place);
      await maker.remove(place, `credentials/${id}`);
      return id;
    },
    unknown: newId,
    call,
    refusal: '422 invalid_request',
  });
  return {
    'initiateConnection path server_id': {
      make: (place) => maker.connectionServer(place, 'personal'),
      unknown: newId,
      call: async (place, id) => initiate(place, id),
      refusal: '404 mcp_server_not_found',
      neighbourRefusal: null,
    },
    'completeConnection body handle': {
      make: (place) => connections.handle(place),
      unknown: () => `mh.${newSecret()}`,
      call: async (place, id) => complete(place, id),
      refusal: '404 authorization_attempt_not_found',
      neighbourRefusal: null,
    },
    'getConnection path space_id': spaceOf('GET', path('connection')),
    'getConnection path server_id': serverIn('GET', 'connection'),
    'deleteConnection path space_id': spaceOf('DELETE', path('connection')),
    'deleteConnection path server_id': serverIn('DELETE', 'connection'),
    'listConnections path space_id': spaceOf('GET', path('connections')),
    'listConnections path server_id': serverIn('GET', 'connections'),
    'listConnections query cursor': cursorOf(async (place) => {
      const serverId = await connections.connected(place);
      await connectAnother(maker, place, serverId);
      return `mcp-servers/${serverId}/connections`;
    }),
    'registerServer body client_credential_id': client(async (place, id) =>
      callAt(place, 'POST', 'mcp-servers', {
        body: {
          slug: `s-${newId().slice(-12)}`,
          display_name: 'Tools',
          url: serverUrl,
          connection_mode: 'personal',
          client_credential_id: id,
        },
      }),
    ),
    'updateServer body client_credential_id': client(async (place, id) =>
      callAt(place, 'PATCH', `mcp-servers/${await maker.connectionServer(place, 'personal')}`, {
        body: { client_credential_id: id },
      }),
    ),
  };
}

/** A second row of the list, of a person. */
async function connectAnother(maker: Maker, { tenantId, apiKey }: Place, serverId: string): Promise<void> {
  await maker.unitOfWork.inTenant(tenantId, (em) =>
    em.execute(
      `insert into mcp_connections
         (tenant_id, id, server_id, space_id, owner_id, connected_by, status, issuer, target)
       select k.tenant_id, gen_random_uuid(), s.id, s.space_id, k.principal_id, k.principal_id, 'connected',
         'https://login.example.com', '{}'
       from api_keys k, mcp_servers s where k.key_id = ? and s.id = ?`,
      [apiKey.split('.')[1], serverId],
    ),
  );
}

/** How each procedure on connections is tried. */
export function connectionProcedures({
  maker,
  cursorOf,
}: {
  maker: Maker;
  cursorOf: (place: Place, path: string, input: object) => Promise<string>;
}): Record<string, ProcedureFixture> {
  const connections = new ConnectionMaker(maker);
  const connected = async (place: Place) => ({
    space_id: place.spaceId,
    server_id: await connections.connected(place),
  });
  const ids = { space_id: space, server_id: server };
  return {
    'connections.initiate': {
      input: async (place) => ({ server_id: await maker.connectionServer(place, 'personal') }),
      ids: { server_id: server },
    },
    'connections.complete': {
      personal: true,
      input: async (place) => ({ handle: await connections.handle(place) }),
      ids: {
        handle: { unknown: () => `mh.${newSecret()}`, code: '404 authorization_attempt_not_found' },
      },
    },
    'connections.get': { input: connected, ids },
    'connections.disconnect': { input: connected, ids },
    'connections.list': {
      input: async (place) => {
        const input = { ...(await connected(place)), limit: 1 };
        await connectAnother(maker, place, input.server_id);
        return { ...input, cursor: await cursorOf(place, 'connections.list', input) };
      },
      ids: { ...ids, cursor: { unknown: () => 'eyJ4Ijox.eA', code: '422 invalid_cursor' } },
    },
  };
}
