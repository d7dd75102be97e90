import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startVendor, type Vendor } from '../support/authorization/vendor.ts';
import { sendOver, type Answer } from '../support/gateway.ts';
import { Popup } from '../support/popup.ts';
import { startGoogleDrive, type GoogleDriveServer } from '../support/sources/google-drive-server.ts';
import { openToolWorld, type ToolWorld } from '../support/tool-world.ts';

const scope = 'https://www.googleapis.com/auth/drive.readonly';

let drive: GoogleDriveServer;
let vendor: Vendor;
let tools: ToolWorld;
let collection: string;

beforeAll(async () => {
  drive = await startGoogleDrive();
  vendor = await startVendor(drive, {
    path: '/drive/',
    routes: { authorization: '/o/oauth2/v2/auth', token: '/token', revocation: '/revoke' },
    plainScopes: [scope],
  });
  tools = await openToolWorld({
    scripts: [],
    origins: [vendor.origin],
    workers: 2,
    env: { LOG_LEVEL: 'trace' },
  });
  await vendor.authorization.addClient({
    client_id: 'drive-app',
    client_secret: 'drive-app-secret',
    redirect_uris: [`${gateway().url}/api/v1/mcp-auth/callback`],
    grant_types: ['authorization_code', 'refresh_token'],
    token_endpoint_auth_method: 'client_secret_post',
  });
  for (let each = 0; each < 6; each += 1) {
    await drive.put(`tides-${each}.md`, `High water number ${each}.`);
  }
  collection = (await send('POST', 'collections', { name: 'Files' })).body.data.id as string;
}, 60_000);
afterAll(async () => {
  await tools?.stop();
  await vendor?.stop();
  await drive?.close();
});

const gateway = () => tools.stack.gateways[0]!;
const send = (method: string, path: string, body?: object, apiKey = tools.world.apiKey): Promise<Answer> =>
  sendOver(gateway).send({
    method,
    path: `/v1/spaces/${tools.world.spaceId}/${path}`,
    apiKey,
    ...(body && { body }),
  });

async function createConnector(): Promise<string> {
  const client = await send('POST', 'credentials', {
    name: `Drive ${Math.random()}`,
    kind: 'oauth2_client',
    origin: vendor.origin,
    value: {
      client_id: 'drive-app',
      client_secret: 'drive-app-secret',
      token_url: `${vendor.origin}/token`,
    },
  });
  expect(client.status, client.text).toBe(201);
  const made = await send('POST', `collections/${collection}/connectors`, {
    provider_slug: 'google_drive',
    scope_config: { api_url: `${vendor.origin}/drive/v3` },
    client_credential_id: client.body.data.id,
  });
  expect(made.status, made.text).toBe(201);
  expect(made.body.data).toMatchObject({ status: 'auth_required', credential_id: null });
  return `collections/${collection}/connectors/${made.body.data.id as string}`;
}

async function connect(connector: string, account: string): Promise<Answer> {
  const done = encodeURIComponent(`${gateway().url}/api/v1/mcp-auth/done`);
  const begun = await send('POST', `${connector}/connection/initiate?redirect_uri=${done}`);
  expect(begun.status, begun.text).toBe(200);
  const popup = new Popup(sendOver(gateway));
  const address = await popup.decide(begun.body.data.popup_url, 'continue');
  expect(Object.fromEntries(address.searchParams)).toMatchObject({
    access_type: 'offline',
    prompt: 'consent',
    scope,
  });
  const back = await popup.open(await vendor.authorization.authorize(address.href, { account }));
  expect(back.status, back.text).toBe(303);
  const handle = new URL(back.headers['location']!).searchParams.get('handle')!;
  return sendOver(gateway).send({
    method: 'POST',
    path: '/v1/mcp-auth/complete',
    apiKey: tools.world.apiKey,
    body: { handle },
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
  });
});
