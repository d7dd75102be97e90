import { createAuthorizationServers } from '#adapters/authorization/authorization-servers.ts';
import { CheckPlaces } from '#api/limits/check-places.ts';
import { HistoryPlaces } from '#api/limits/history-places.ts';
import { SearchPlaces } from '#api/limits/search-places.ts';
import { randomBytes } from 'node:crypto';
import type { FastifyInstance } from 'fastify';
import { createOidcClient } from '#adapters/identity/oidc-client.ts';
import { createLogger } from '#adapters/telemetry/logger.ts';
import { createTelemetry } from '#adapters/telemetry/metrics.ts';
import { buildApp } from '#api/app.ts';
import { StreamHub } from '#api/sse/stream-hub.ts';
import { StreamPlaces } from '#api/sse/stream-places.ts';
import { mintApiKey } from '#domain/identity/api-keys/api-key.ts';
import { CredentialCache } from '#domain/identity/api-keys/credential-cache.ts';
import { parseGatewayConfig } from '#domain/foundation/kernel/config.ts';
import { newId } from '#domain/foundation/kernel/ids.ts';
import { Database } from '#domain/foundation/persistence/database.ts';
import { ResponseRows } from '#domain/responses/store/response-rows.ts';
import { longTexts } from './long-texts.ts';
import { testProviders } from './sources/connector-space.ts';
import { openWorld, type KnowledgeWorld, type SpaceFixture } from './knowledge-world.ts';

export interface Client extends SpaceFixture {
  key: string;
}

/** A gateway in this process, on a database of its own, and members of spaces with keys for it. */
export interface KnowledgeGateway {
  world: KnowledgeWorld;
  app: FastifyInstance;
  join(role?: string, space?: SpaceFixture): Promise<Client>;
  /** A request below the collections of the client's space. */
  call(
    client: Client,
    method: Method,
    path: string,
    payload?: object,
    headers?: Record<string, string>,
  ): Promise<Answer>;
  addCollection(client: Client, name?: string): Promise<string>;
  stop(): Promise<void>;
}

export type Method = 'GET' | 'POST' | 'PATCH' | 'DELETE';

export interface Answer {
  status: number;
  headers: Record<string, unknown>;
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  body: any;
}

/** A member of a space with a role of it, by default its administrator, and with a key. */
export async function joinSpace(
  world: KnowledgeWorld,
  role = 'space_admin',
  space?: SpaceFixture,
): Promise<Client> {
  const member = space ?? (await world.addSpace());
  const principalId = newId();
  const { token, keyId, secretHash } = mintApiKey(world.secrets);
  const { tenantId, spaceId } = member;
  await world.admin.query(`insert into principals (tenant_id, id, type) values ($1, $2, 'service_account')`, [
    tenantId,
    principalId,
  ]);
  await world.admin.query(
    'insert into space_members (tenant_id, space_id, principal_id, role_key) values ($1, $2, $3, $4)',
    [tenantId, spaceId, principalId, role],
  );
  await world.admin.query(
    `insert into api_keys (tenant_id, id, key_id, secret_hash, principal_id, name, expires_at)
     values ($1, $2, $3, $4, $5, 'k', now() + interval '1 day')`,
    [tenantId, newId(), keyId, secretHash, principalId],
  );
  return { tenantId, spaceId, principalId, key: token };
}

export async function openKnowledgeGateway(settings: Record<string, string> = {}): Promise<KnowledgeGateway> {
  const world = await openWorld();
  const telemetry = createTelemetry();
  const database = new Database({ url: world.url, statementTimeoutMs: 5_000 });
  const logger = createLogger('test', 'silent');
  const config = parseGatewayConfig({
    DATABASE_URL: world.url,
    TEMPORAL_ADDRESS: '127.0.0.1:1',
    MASTER_KEY: randomBytes(32).toString('base64'),
    ...settings,
  });
  const app = await buildApp({
    config,
    logger,
    database,
    responseRows: new ResponseRows(database),
    searchPlaces: new SearchPlaces(),
    historyPlaces: new HistoryPlaces(),
    sources: testProviders([]),
    authorizationServers: createAuthorizationServers({ fetch }),
    checkPlaces: new CheckPlaces(),
    authorizationPlaces: new CheckPlaces(),
    unitOfWork: world.unitOfWork,
    secrets: world.secrets,
    credentialCache: new CredentialCache(),
    longTexts,
    names: { find: () => Promise.resolve([]) },
    workflows: { describe: () => Promise.resolve(null), historyOf: () => Promise.resolve(null) },
    hub: new StreamHub(database, logger),
    telemetry,
    oidc: createOidcClient({ fetch }),
    openStreams: new Set(),
    streamPlaces: new StreamPlaces(config),
    draining: { value: false },
  });

  const call: KnowledgeGateway['call'] = async (client, method, path, payload, headers = {}) => {
    const response = await app.inject({
      method,
      url: `/api/v1/spaces/${client.spaceId}/collections${path}`,
      headers: { 'x-api-key': client.key, ...headers },
      ...(payload === undefined ? {} : { payload }),
    });
    return { status: response.statusCode, headers: response.headers, body: response.json() };
  };

  return {
    world,
    app,
    join: (role, space) => joinSpace(world, role, space),
    call,
    addCollection: async (client, name = 'Harbours') =>
      (await call(client, 'POST', '', { name })).body.data.id as string,
    stop: async () => {
      await app.close();
      await telemetry.close();
      await database.close();
      await world.stop();
    },
  };
}
