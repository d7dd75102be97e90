import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createAuthorizationServers } from '#adapters/authorization/authorization-servers.ts';
import { createGuardedConnect } from '#adapters/egress/guarded-connect.ts';
import { createGuardedFetch } from '#adapters/egress/guarded-fetch.ts';
import { createSourceProviders } from '#adapters/sources/create-source-providers.ts';
import { sourceDialects } from '#adapters/sources/dialects.ts';
import { useConnections } from '#domain/capabilities/connection-tokens/use-connections.ts';
import { issuerKey } from '#domain/capabilities/connections/connection-parts.ts';
import { openConnection } from '#domain/capabilities/connections/connection-state.ts';
import { newId } from '#domain/foundation/kernel/ids.ts';
import type { Source } from '#domain/knowledge/connectors/source.ts';
import { startVendor, type Vendor } from '../support/authorization/vendor.ts';
import { dumpOf, foundIn, historiesOf, logsOf } from '../support/canaries.ts';
import { sendOver, type Answer } from '../support/gateway.ts';
import { Popup } from '../support/popup.ts';
import { startConfluence } from '../support/sources/confluence-server.ts';
import { startGithub } from '../support/sources/github-server.ts';
import { startGoogleDrive, type GoogleDriveServer } from '../support/sources/google-drive-server.ts';
import { startSlack } from '../support/sources/slack-server.ts';
import type { FakeSource } from '../support/sources/source-contract.ts';
import { openToolWorld, type ToolWorld } from '../support/tool-world.ts';
import { addMember, secrets } from '../support/world.ts';

const scope = 'https://www.googleapis.com/auth/drive.readonly';

const clientSecret = 'secret-of-the-drive-app';
const names = ['north.md', 'east.md', 'south.md', 'west.md'];

let drive: GoogleDriveServer;
let vendor: Vendor;
const others = new Map<string, { vendor: Vendor; scopeConfig: object; tokenPath: string }>();
const stops: (() => Promise<void>)[] = [];
let tools: ToolWorld;
let collection: string;

beforeAll(async () => {
  drive = await startGoogleDrive();
  vendor = await startVendor(drive, {
    path: '/drive/',
    routes: { authorization: '/o/oauth2/v2/auth', token: '/token', revocation: '/revoke' },
    plainScopes: [scope],
  });
  await startOthers();
  const vendors = [vendor, ...[...others.values()].map((other) => other.vendor)];
  tools = await openToolWorld({
    scripts: [],
    origins: vendors.map(({ origin }) => origin),
    workers: 2,
    env: { LOG_LEVEL: 'trace' },
  });
  for (const { authorization } of vendors) {
    await authorization.addClient({
      client_id: 'the-app',
      client_secret: clientSecret,
      redirect_uris: [`${gateway().url}/api/v1/mcp-auth/callback/${issuerKey(authorization.issuer)}`],
      grant_types: ['authorization_code', 'refresh_token'],
      token_endpoint_auth_method: 'client_secret_post',
    });
  }
  await change();
  collection = (await send('POST', 'collections', { name: 'Files' })).body.data.id as string;
});
afterAll(async () => {
  await tools?.stop();
  await Promise.all([vendor?.stop(), drive?.close(), ...stops.map((stop) => stop())]);
});

const gateway = () => tools.stack.gateways[0]!;
const send = (method: string, path: string, body?: object, apiKey = tools.world.apiKey): Promise<Answer> =>
  sendOver(gateway).send({
    method,
    path: `/v1/spaces/${tools.world.spaceId}/${path}`,
    apiKey,
    ...(body && { body }),
  });

async function startOthers(): Promise<void> {
  const add = async (source: FakeSource, options: Parameters<typeof startVendor>[1]) => {
    await source.put('tides.md', 'High water is at noon.');
    const started = await startVendor(source, options);
    const at = JSON.stringify(source.scopeConfig).replaceAll(source.origin, started.origin);
    const scopeConfig = JSON.parse(at) as object;
    others.set(source.slug, { vendor: started, scopeConfig, tokenPath: String(options.routes?.token) });
    stops.push(
      () => started.stop(),
      () => source.close(),
    );
  };
  await add(await startGithub(), {
    path: '/repos/',
    issuerPath: '/login/oauth',
    routes: { authorization: '/login/oauth/authorize', token: '/login/oauth/access_token' },
    plainScopes: ['repo'],
  });
  await add(await startConfluence(), {
    path: '/wiki/',
    routes: { authorization: '/authorize', token: '/oauth/token' },
    plainScopes: ['read:page:confluence', 'read:space:confluence'],
  });
  await add(await startSlack(), {
    path: '/api/',
    routes: { authorization: '/oauth/v2/authorize', token: '/api/oauth.v2.access' },
    plainScopes: ['channels:read,channels:history,users:read'],
    demandsProofKey: false,
  });
}

interface Kind {
  slug: string;
  at: Vendor;
  scopeConfig: object;
  tokenPath: string;
}
const driveKind = (): Kind => ({
  slug: 'google_drive',
  at: vendor,
  scopeConfig: { api_url: `${vendor.origin}/drive/v3` },
  tokenPath: '/token',
});

async function createConnector({ slug, at, scopeConfig, tokenPath } = driveKind()): Promise<string> {
  const client = await send('POST', 'credentials', {
    name: newId(),
    kind: 'oauth2_client',
    origin: at.origin,
    value: { client_id: 'the-app', client_secret: clientSecret, token_url: at.origin + tokenPath },
  });
  expect(client.status, client.text).toBe(201);
  const made = await send('POST', `collections/${collection}/connectors`, {
    provider_slug: slug,
    scope_config: scopeConfig,
    client_credential_id: client.body.data.id,
  });
  expect(made.status, made.text).toBe(201);
  expect(made.body.data).toMatchObject({ status: 'auth_required', credential_id: null });
  return `collections/${collection}/connectors/${made.body.data.id as string}`;
}

function initiate(connector: string, apiKey = tools.world.apiKey): Promise<Answer> {
  const done = encodeURIComponent(`${gateway().url}/api/v1/mcp-auth/done`);
  return send('POST', `${connector}/connection/initiate?redirect_uri=${done}`, undefined, apiKey);
}

/** The popup, and the person's part at the vendor; the handle. */
async function authorize(connector: string, account: string, at = vendor): Promise<string> {
  const begun = await initiate(connector);
  expect(begun.status, begun.text).toBe(200);
  const popup = new Popup(sendOver(gateway));
  const address = await popup.decide(begun.body.data.popup_url, 'continue');
  const back = await popup.open(await at.authorization.authorize(address.href, { account }));
  expect(back.status, back.text).toBe(303);
  return new URL(back.headers['location']!).searchParams.get('handle')!;
}

const complete = (handle: string, apiKey = tools.world.apiKey): Promise<Answer> =>
  sendOver(gateway).send({ method: 'POST', path: '/v1/mcp-auth/complete', apiKey, body: { handle } });
const connect = async (connector: string, account: string, at = vendor): Promise<Answer> =>
  complete(await authorize(connector, account, at));

/** A connector whose first run is over. */
async function connected(account: string): Promise<string> {
  const connector = await createConnector();
  await connect(connector, account);
  await runsEnd(connector, ['completed']);
  return connector;
}

async function sync(connector: string): Promise<void> {
  const run = (await send('POST', `${connector}/sync`, {})).body.data.id as string;
  const statusOf = async () => (await send('GET', `${connector}/sync/${run}`)).body.data.status as string;
  await expect.poll(statusOf, { timeout: 30_000, interval: 100 }).toBe('completed');
}

/** Changes some files at the vendor. */
async function change(): Promise<void> {
  for (const name of names) await drive.put(name, `${name} at ${performance.now()}`);
}

/** Does something before the next request whose address has this part. */
function once(part: string, act: () => unknown): void {
  vendor.before = async (path) => {
    if (path.includes(part)) {
      vendor.before = null;
      await act();
    }
  };
}

const idOf = (connector: string): string => connector.split('/').at(-1)!;
const rowsOf = 'select id from mcp_connections where connector_id = $1';
const left = async (connector: string) => (await tools.admin.query(rowsOf, [idOf(connector)])).rowCount;
const refreshes = (): number =>
  vendor.authorization.tokenRequests.filter(({ grantType }) => grantType === 'refresh_token').length;
const expire = (connector: string) =>
  tools.admin.query(
    `update mcp_connections set expires_at = now() - interval '1 second' where connector_id = $1`,
    [idOf(connector)],
  );

/** The source of a connector, as a process of its own opens it. */
function openAlone(connector: string): Promise<Source> {
  const fetch = createGuardedFetch([vendor.origin]);
  const { unitOfWork } = tools.database;
  const authorizationServers = createAuthorizationServers({ fetch, dialects: sourceDialects() });
  const sources = createSourceProviders({
    fetch,
    connect: createGuardedConnect([]),
    roots: new Map(),
    openCredential: () => Promise.resolve(null),
    stored: { read: () => Promise.reject(new Error('no credential')), refused: () => {} },
    connections: useConnections({ unitOfWork, secrets, authorizationServers }),
  });
  const { tenantId, spaceId } = tools.world;
  return sources.open({
    tenantId,
    spaceId,
    principalId: newId(),
    connectorId: idOf(connector),
    providerSlug: 'google_drive',
    scopeConfig: sources.parseScope('google_drive', { api_url: `${vendor.origin}/drive/v3` }),
    credentialId: null,
    clientCredentialId: idOf(connector),
  });
}

const becomes = (connector: string, expected: object) =>
  expect
    .poll(async () => (await send('GET', connector)).body.data, { timeout: 30_000, interval: 100 })
    .toMatchObject(expected);
const runsEnd = (connector: string, statuses: string[]) =>
  expect
    .poll(
      async () =>
        ((await send('GET', `${connector}/sync`)).body.data as { status: string }[]).map(
          ({ status }) => status,
        ),
      { timeout: 30_000, interval: 100 },
    )
    .toEqual(statuses);

describe('a connector that is authorized by an account', () => {
  it('waits for the account, and synchronises when somebody has connected it', async () => {
    const connector = await createConnector();
    expect((await send('GET', `${connector}/connection`)).body.data).toMatchObject({
      status: 'auth_required',
      owner: 'shared',
    });
    const connected = await connect(connector, 'ann');
    expect(connected.body, connected.text).toMatchObject({ data: { status: 'connected', server_id: null } });
    await runsEnd(connector, ['completed']);
    await becomes(connector, { status: 'active', last_synced_at: expect.any(String) });
    expect(await tools.eventTypes('collection.connector_resumed')).toHaveLength(1);
    expect((await send('GET', `${connector}/connection`)).body.data).toMatchObject({
      status: 'connected',
      issuer: vendor.origin,
      granted_scopes: expect.arrayContaining([scope]),
    });
  });

  it('has its token refreshed once when that ends in the middle of a run', async () => {
    const connector = await connected('ben');
    await change();
    let before = refreshes();
    once('alt=media', () => vendor.authorization.forgetAccessTokens());
    await sync(connector);
    expect(refreshes() - before).toBe(1);

    await change();
    before = refreshes();
    once('/changes', () => expire(connector));
    await sync(connector);
    expect(refreshes() - before).toBe(1);
    expect(vendor.refused).toBeGreaterThan(0);
  });

  it('waits for another account when the vendor has revoked it, and then goes on by itself', async () => {
    const connector = await connected('cat');
    await vendor.authorization.revokeAccount('cat');
    await send('POST', `${connector}/sync`, {});
    await becomes(connector, { status: 'auth_required', status_reason: 'auth_failed' });
    expect((await send('GET', `${connector}/connection`)).body.data.status).toBe('auth_expired');
    expect(await tools.eventTypes('collection.connector_auth_required')).toHaveLength(1);
    expect((await send('POST', `${connector}/sync`, {})).status).toBe(409);
    await connect(connector, 'cat');
    await runsEnd(connector, ['completed', 'failed', 'completed']);
    await becomes(connector, { status: 'active', status_reason: null });
  });

  it('is read no more after disconnecting or deleting, and its tokens are revoked and erased', async () => {
    const connector = await connected('dan');
    const revoked = vendor.authorization.asked.get('/revoke') ?? 0;
    expect((await send('DELETE', `${connector}/connection`)).status).toBe(200);
    expect(vendor.authorization.asked.get('/revoke')).toBe(revoked + 2);
    await becomes(connector, { status: 'auth_required' });
    expect((await send('GET', `${connector}/connection`)).body.data.status).toBe('auth_required');
    expect((await send('DELETE', `${connector}/connection`)).status).toBe(404);
    expect(await left(connector)).toBe(0);

    const other = await connected('eve');
    const [{ id } = { id: '' }] = (await tools.admin.query<{ id: string }>(rowsOf, [idOf(other)])).rows;
    expect((await send('DELETE', other)).status).toBe(202);
    const isLeft = async () =>
      (await tools.admin.query('select 1 from mcp_connections where id = $1', [id])).rowCount;
    await expect.poll(isLeft, { timeout: 60_000, interval: 200 }).toBe(0);
    expect(vendor.authorization.asked.get('/revoke')).toBe(revoked + 4);
  });

  it('is connected by the person that began it alone, who may change the connector', async () => {
    const connector = await createConnector();
    const member = (spaceRole: 'space_viewer' | 'space_admin') =>
      addMember(tools.database.unitOfWork, tools.world, { spaceRole });
    const [viewer, other] = [await member('space_viewer'), await member('space_admin')];
    expect(await initiate(connector, viewer.apiKey)).toMatchObject({
      status: 403,
      body: { error: { code: 'missing_permission', missing_permission: 'connectors.update' } },
    });
    const handle = await authorize(connector, 'fay');
    expect(await complete(handle, other.apiKey)).toMatchObject({
      status: 404,
      body: { error: { code: 'authorization_attempt_not_found' } },
    });
    expect(await complete(handle)).toMatchObject({ status: 200 });
    expect(await complete(handle)).toMatchObject({ status: 404 });
  });

  it('has one refresh where two processes need its token at once', async () => {
    const connector = await connected('gus');
    const [one, two] = [await openAlone(connector), await openAlone(connector)];
    await expire(connector);
    const before = refreshes();
    vendor.authorization.tokenAnswerDelayMs = 300;
    await Promise.all([one, two].map((source) => source.check(AbortSignal.timeout(20_000))));
    vendor.authorization.tokenAnswerDelayMs = 0;
    expect(refreshes() - before).toBe(1);
  });

  it('leaves codes, tokens and the secret of the client nowhere but sealed in their columns', async () => {
    const connector = await connected('hal');
    await expire(connector);
    await sync(connector);
    const { tenantId } = tools.world;
    const opened = await tools.database.unitOfWork.inTenant(tenantId, (em) =>
      openConnection({ em, secrets }, { connectorId: idOf(connector), origin: vendor.origin }),
    );
    const planted = new Map([
      ['access token', opened!.tokens.accessToken],
      ['client secret', clientSecret],
    ]);
    for (const { form } of vendor.authorization.tokenRequests) {
      for (const name of ['code', 'code_verifier', 'refresh_token']) {
        if (typeof form[name] === 'string') planted.set(`${name} ${planted.size}`, form[name]);
      }
    }
    expect(planted.size).toBeGreaterThan(10);
    for (const text of [await dumpOf(tools), await logsOf(tools), await historiesOf(tools)]) {
      expect(text.length).toBeGreaterThan(1_000);
      expect(foundIn(planted, text)).toEqual([]);
    }
  });
});

describe.each(['github', 'confluence', 'slack'])('a connector of %s', (slug) => {
  it('is read with the account that was connected, also when its token has ended', async () => {
    const { vendor: at, ...more } = others.get(slug)!;
    const connector = await createConnector({ slug, at, ...more });
    const made = await connect(connector, 'ivy', at);
    expect(made.body, made.text).toMatchObject({ data: { status: 'connected' } });
    await runsEnd(connector, ['completed']);
    at.authorization.forgetAccessTokens();
    await sync(connector);
    const types = at.authorization.tokenRequests.map(({ grantType, error }) => [grantType, error]);
    expect(types).toEqual([
      ['authorization_code', null],
      ['refresh_token', null],
    ]);
    const listed = (await send('GET', `${connector}/documents`)).body.data as unknown[];
    expect(listed.length).toBeGreaterThan(0);
  });
});
