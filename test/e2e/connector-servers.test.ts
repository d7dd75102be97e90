import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  startAuthorizationServer,
  type AuthorizationServer,
} from '../support/authorization/authorization-server.ts';
import { startProtectedServer, type ProtectedServer } from '../support/authorization/protected-server.ts';
import { sendOver, type Answer } from '../support/gateway.ts';
import { Popup } from '../support/popup.ts';
import { startHttpRelay, type HttpRelay } from '../support/sources/http-relay.ts';
import { startMcpSource, type McpSourceServer } from '../support/sources/mcp-server.ts';
import { startEverything } from '../support/tool-servers.ts';
import { openToolWorld, type Server, type ToolWorld } from '../support/tool-world.ts';

let tides: McpSourceServer;
let authorization: AuthorizationServer;
let team: ProtectedServer;
let bound: ProtectedServer;
let everything: Awaited<ReturnType<typeof startEverything>>;
let relay: HttpRelay;
let tools: ToolWorld;
let collection: string;

beforeAll(async () => {
  tides = await startMcpSource({ subscribe: true, listChanged: true });
  await tides.put('tides.md', 'High water is at noon.');
  authorization = await startAuthorizationServer();
  team = await startProtectedServer({ authorization });
  team.resources.set('rota.md', 'The keeper of the lighthouse is Wren.');
  bound = await startProtectedServer({ authorization, demandsProof: true });
  bound.resources.set('vault.md', 'The key of the vault hangs in the boathouse.');
  everything = await startEverything();
  relay = await startHttpRelay(() => Number(new URL(everything.url).port));
  tools = await openToolWorld({
    scripts: [],
    origins: [tides.origin, authorization.issuer, team.origin, bound.origin, relay.origin],
  });
  collection = (await send('POST', 'collections', { name: 'Harbours' })).body.data.id as string;
});
afterAll(async () => {
  await tools?.stop();
  await Promise.all([
    tides?.close(),
    authorization?.stop(),
    team?.stop(),
    bound?.stop(),
    relay?.close(),
    everything?.stop(),
  ]);
});

interface Run {
  id: string;
  status: string;
  error_message: string | null;
  metadata: { trigger: string };
}

const gateway = () => tools.stack.gateways[0]!;
const send = (method: string, path: string, body?: object): Promise<Answer> =>
  sendOver(gateway).send({
    method,
    path: `/v1/spaces/${tools.world.spaceId}/${path}`,
    apiKey: tools.world.apiKey,
    ...(body && { body }),
  });
const idOf = ({ mcp_server_config_id: id }: Server): string => id;
const found = async (query: string): Promise<string> =>
  JSON.stringify((await send('POST', 'tools/knowledge_search/execute', { query })).body.data ?? null);

async function reading(server: Server): Promise<string> {
  const made = await send('POST', `collections/${collection}/connectors`, {
    provider_slug: 'mcp',
    scope_config: { server_id: idOf(server) },
    sync_schedule: null,
  });
  expect(made.status, made.text).toBe(201);
  return `collections/${collection}/connectors/${made.body.data.id as string}`;
}

const runs = async (connector: string): Promise<Run[]> =>
  (await send('GET', `${connector}/sync`)).body.data as Run[];
/** The newest first, each with its trigger. */
const runsAre = (connector: string, expected: string[], { timeout = 30_000, without = '' } = {}) =>
  expect
    .poll(
      async () =>
        (await runs(connector))
          .map(({ status, metadata }) => `${metadata.trigger} ${status}`)
          .filter((run) => without === '' || !run.startsWith(without)),
      { timeout },
    )
    .toEqual(expected);
/** Its server says that it reports changes: a run follows the beginning of a watch. */
const beside = { without: 'webhook' };
const readOf = async (connector: string) => (await send('GET', connector)).body.data;

const isOver = ({ status }: Run) => !/queued|running/.test(status);

/** A run of its own: another run that is under way could fail before it, and cancel it. */
async function sync(
  connector: string,
  before: () => Promise<unknown> = () => Promise.resolve(),
): Promise<Run> {
  await expect.poll(async () => (await runs(connector)).every(isOver), { timeout: 30_000 }).toBe(true);
  await before();
  const { id } = (await send('POST', `${connector}/sync`, {})).body.data as Run;
  const run = async () => (await send('GET', `${connector}/sync/${id}`)).body.data as Run;
  await expect.poll(async () => isOver(await run()), { timeout: 30_000, interval: 100 }).toBe(true);
  return run();
}

describe('a connector of a connected tool server', () => {
  let server: Server;
  let connector: string;

  it('reads it with its credential, and finds a change soon after the server has reported it', async () => {
    const { kind, ...value } = tides.credential!.value;
    const { origin } = tides.credential!;
    const credential = await send('POST', 'credentials', { name: 'Tides', kind, origin, value });
    server = await tools.register('tides', `${tides.origin}/mcp`, { credential_id: credential.body.data.id });
    connector = await reading(server);
    // The run of its creation, and that of the beginning of the watch.
    await runsAre(connector, ['webhook completed', 'initial completed']);
    expect(await found('water')).toContain('noon');
    const changedAt = performance.now();
    await tides.put('tides.md', 'High water is at midnight.');
    await expect.poll(() => found('midnight'), { timeout: 30_000, interval: 100 }).toContain('midnight');
    expect(performance.now() - changedAt).toBeLessThan(20_000);
    expect((await runs(connector))[0]).toMatchObject({ metadata: { trigger: 'webhook' } });
  });

  it('stops with a server that is disabled, and goes on when a person has resumed it', async () => {
    const disable = () => send('PATCH', `mcp-servers/${idOf(server)}`, { enabled: false });
    expect(await sync(connector, disable)).toMatchObject({
      status: 'failed',
      error_message: 'scope_invalid: The tool server is disabled: enable it, or name another one.',
    });
    expect(await readOf(connector)).toMatchObject({ status: 'error', status_reason: 'scope_invalid' });
    expect(await found('midnight')).toContain('midnight');
    const resume = () => send('PATCH', connector, { status: 'active' });
    expect(await resume()).toMatchObject({
      status: 409,
      body: { error: { code: 'connector_check_failed' } },
    });
    await send('PATCH', `mcp-servers/${idOf(server)}`, { enabled: true });
    expect((await resume()).status).toBe(200);
    await expect
      .poll(async () => (await runs(connector))[0], { timeout: 30_000 })
      .toMatchObject({
        status: 'completed',
      });
  });

  it('keeps the server from being removed until it is deleted itself', async () => {
    const remove = () => send('DELETE', `mcp-servers/${idOf(server)}`);
    expect(await remove()).toMatchObject({ status: 409, body: { error: { code: 'mcp_server_in_use' } } });
    expect((await send('DELETE', connector)).status).toBe(202);
    await expect.poll(async () => (await remove()).status, { timeout: 30_000 }).toBe(200);
  });
});

describe('a connector of a tool server with an account of the space', () => {
  let server: Server;
  let connector: string;

  async function connect(account: string, to = server): Promise<void> {
    const done = encodeURIComponent(`${gateway().url}/api/v1/mcp-auth/done`);
    const { apiKey } = tools.world;
    const post = (path: string, body?: object) =>
      sendOver(gateway).send({ method: 'POST', path, apiKey, ...(body && { body }) });
    const begun = await post(`/v1/mcp-auth/${idOf(to)}/initiate?redirect_uri=${done}`);
    expect(begun.status, begun.text).toBe(200);
    const popup = new Popup(sendOver(gateway));
    const address = await popup.decide(begun.body.data.popup_url, 'continue');
    const back = await popup.open(await authorization.authorize(address.href, { account }));
    const handle = new URL(back.headers['location']!).searchParams.get('handle')!;
    const connected = await post('/v1/mcp-auth/complete', { handle });
    expect(connected.body).toMatchObject({ data: { status: 'connected' } });
  }

  it('waits for the account, and goes on by itself when it is connected', async () => {
    server = await tools.register('team', team.url, { connection_mode: 'shared' });
    connector = await reading(server);
    await runsAre(connector, ['initial failed']);
    expect((await runs(connector))[0]!.error_message).toBe(
      'auth_failed: No account is connected: somebody has to connect one.',
    );
    expect(await readOf(connector)).toMatchObject({ status: 'auth_required', status_reason: 'auth_failed' });
    await connect('ada');
    await runsAre(connector, ['initial completed', 'initial failed'], beside);
    expect(await found('lighthouse')).toContain('For ada.');
  });

  it('has the token refreshed that the server refuses', async () => {
    team.resources.set('rota.md', 'The keeper of the lighthouse is Finch.');
    authorization.forgetAccessTokens();
    expect(await sync(connector)).toMatchObject({ status: 'completed' });
    expect(await found('lighthouse')).toContain('Finch');
  });

  it('proves the possession of the key that its token is bound to, also of a refreshed one', async () => {
    const vault = await tools.register('vault', bound.url, { connection_mode: 'shared' });
    await connect('bea', vault);
    const reader = await reading(vault);
    await runsAre(reader, ['initial completed'], beside);
    expect(await found('boathouse')).toContain('For bea.');
    authorization.forgetAccessTokens();
    expect(await sync(reader)).toMatchObject({ status: 'completed' });
  });

  it('ends in words where the server is given to the accounts of people', async () => {
    const run = await sync(connector, () =>
      send('PATCH', `mcp-servers/${idOf(server)}`, { connection_mode: 'personal' }),
    );
    expect(run.status).toBe('failed');
    expect(run.error_message).toMatch(/^auth_failed: .*with the account of each person/);
    expect(await readOf(connector)).toMatchObject({ status: 'auth_required' });
  });
});

it('a notification of the reference server begins a run of the connector that reads it', async () => {
  const server = await tools.register('everything', `${relay.origin}/mcp`);
  const sessions: (string | undefined)[] = [];
  relay.intercept((incoming) => {
    // Of a connector, a watch alone opens the stream of a session.
    if (incoming.method === 'GET') sessions.push(incoming.headers['mcp-session-id']?.toString());
    return false;
  });
  const connector = await reading(server);
  await runsAre(connector, ['webhook completed', 'initial completed']);
  expect(sessions).toHaveLength(1);
  // The server simulates changes for one session, on request of a tool.
  const asked = await fetch(everything.url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-session-id': sessions[0]!,
    },
    body: JSON.stringify({
      jsonrpc: '2.0',
      id: 'toggle',
      method: 'tools/call',
      params: { name: 'toggle-subscriber-updates', arguments: {} },
    }),
  });
  expect(await asked.text()).toContain('Started simulated resource updated');
  await runsAre(connector, ['webhook completed', 'webhook completed', 'initial completed'], {
    timeout: 20_000,
  });
});
