import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openConnection } from '#domain/capabilities/connections/connection-state.ts';
import type { ConnectionTokens } from '#domain/capabilities/connections/connection-tokens.ts';
import type { ResponseRecord } from '#domain/responses/record/response-record.ts';
import { sweeps } from '#domain/operations/maintenance/sweeps.ts';
import { startAuthorizationServer } from '../support/authorization/authorization-server.ts';
import { authorizeInBrowser } from '../support/authorization/browser-part.ts';
import {
  startFastMcp,
  startSdkExample,
  type ForeignServer,
} from '../support/authorization/foreign-servers.ts';
import { startHydra } from '../support/authorization/hydra.ts';
import { serversFor } from '../support/authorization/journey.ts';
import { startProtectedServer } from '../support/authorization/protected-server.ts';
import { sendOver, type Answer } from '../support/gateway.ts';
import { Popup } from '../support/popup.ts';
import { ResponsesClient } from '../support/responses-client.ts';
import { sweepOnce } from '../support/sweeps.ts';
import { openToolWorld, type Server, type ToolWorld } from '../support/tool-world.ts';
import { addMember, secrets } from '../support/world.ts';

/**
 * Authorization servers that were written elsewhere, each in its own configuration:
 *
 * |                        | oidc-provider | SDK's example (version 1) | FastMCP, in memory    | Ory Hydra              |
 * | ---------------------- | ------------- | ------------------------- | --------------------- | ---------------------- |
 * | connect, call          | yes           | yes                       | yes                   | yes                    |
 * | refresh, rotate        | yes           | no: it issues none        | yes                   | yes                    |
 * | revoke                 | yes           | no: it has no endpoint    | yes                   | yes                    |
 * | more scopes for a call | yes           | no: one scope for all     | no: one scope for all | yes, registered for it |
 *
 * Where a server cannot, the test shows what a person sees instead. The first one serves all else that is tested of
 * connections (connections.test.ts). Hydra ignores `resource` (RFC 8707) and sends no `iss` (RFC 9207), describes itself
 * by OpenID Connect Discovery alone, and grants only scopes that the client registered.
 */
interface Kind {
  slug: string;
  /** Tool with its arguments, and what it says. */
  tool: string;
  given: object;
  says: string;
  refreshes: boolean;
  revokes: boolean;
  /** A tool that needs more than the first connection was granted. */
  stepUp: string | null;
}

const kinds: Kind[] = [
  { slug: 'oidc', tool: 'whoami', given: {}, says: 'ada', refreshes: true, revokes: true, stepUp: 'purge' },
  {
    slug: 'sdk',
    tool: 'greet',
    given: { name: 'Ada' },
    says: 'Hello, Ada!',
    refreshes: false,
    revokes: false,
    stepUp: null,
  },
  {
    slug: 'fastmcp',
    tool: 'greet',
    given: { name: 'Ada' },
    says: 'Hello, Ada!',
    refreshes: true,
    revokes: true,
    stepUp: null,
  },
  { slug: 'hydra', tool: 'whoami', given: {}, says: 'ada', refreshes: true, revokes: true, stepUp: 'purge' },
];

const running = new Map<string, ForeignServer>();
const registered = new Map<string, Server>();
/** Why a kind is not here. */
const missing = new Map<string, string>();
let tools: ToolWorld;
let person: { principalId: string; apiKey: string };

beforeAll(async () => {
  const [oidc, sdk, fastmcp, hydra] = await Promise.all([
    startOidcProvider(),
    startSdkExample(),
    startFastMcp(),
    startHydra(),
  ]);
  for (const [slug, server] of Object.entries({ oidc, sdk, fastmcp, hydra })) {
    if ('missing' in server) missing.set(slug, server.missing);
    else running.set(slug, server);
  }
  const script = (name: string, called: string, given: object) => ({
    name,
    text: 'Done.',
    calls: [[{ name: called, arguments: given }]],
  });
  tools = await openToolWorld({
    scripts: kinds.flatMap(({ slug, tool, given, stepUp }) => [
      script(slug, `mcp__${slug}__${tool}`, given),
      ...(stepUp === null ? [] : [script(`${slug}-more`, `mcp__${slug}__${stepUp}`, {})]),
    ]),
    origins: [...running.values()].flatMap(({ origins }) => origins),
  });
  person = await addMember(tools.database.unitOfWork, tools.world, { spaceRole: 'space_editor' });
}, 420_000);
afterAll(async () => {
  await tools?.stop();
  await Promise.all([...running.values()].map((server) => server.stop()));
});

async function startOidcProvider(): Promise<ForeignServer> {
  const authorization = await startAuthorizationServer();
  const resource = await startProtectedServer({ authorization });
  const stop = async () => void (await Promise.all([resource.stop(), authorization.stop()]));
  return { url: resource.url, origins: [authorization.issuer, resource.origin], stop };
}

const gateway = () => tools.stack.gateways[0]!;
const send = (method: string, path: string, body?: object): Promise<Answer> =>
  sendOver(gateway).send({ method, path, apiKey: person.apiKey, ...(body && { body }) });
const serverOf = (slug: string): Server => registered.get(slug)!;
const connectionOf = (slug: string): string =>
  `/v1/spaces/${tools.world.spaceId}/mcp-servers/${serverOf(slug).mcp_server_config_id}/connection`;
const statusOf = async (slug: string): Promise<string> =>
  (await send('GET', connectionOf(slug))).body.data.status;

async function connect(slug: string): Promise<Answer> {
  const done = encodeURIComponent(`${gateway().url}/api/v1/mcp-auth/done`);
  const path = `/v1/mcp-auth/${serverOf(slug).mcp_server_config_id}/initiate?redirect_uri=${done}`;
  const begun = await send('POST', path);
  expect(begun.status, begun.text).toBe(200);
  const popup = new Popup(sendOver(gateway));
  const address = await popup.decide(begun.body.data.popup_url, 'continue');
  const back = await popup.open(await authorizeInBrowser(address.href));
  const handle = new URL(back.headers['location']!).searchParams.get('handle');
  const completed = await send('POST', '/v1/mcp-auth/complete', { handle });
  expect(completed.status, completed.text).toBe(200);
  return completed;
}

async function call(model: string): Promise<ResponseRecord['output'][number]> {
  const client = new ResponsesClient({ ...tools.world, apiKey: person.apiKey }, gateway);
  const made = await client.create({ input: { text: 'Do it.' }, model }, { prefer: 'wait=30' });
  if (made.status !== 200) throw new Error(JSON.stringify(made));
  return made.data.output[0]!;
}

async function tokensOf(slug: string): Promise<ConnectionTokens> {
  const { tenantId } = tools.world;
  const identity = { tenantId, serverId: serverOf(slug).mcp_server_config_id, ownerId: person.principalId };
  const opened = await tools.database.unitOfWork.inTenant(tenantId, (em) =>
    openConnection({ em, secrets }, identity),
  );
  return opened!.tokens;
}

const expire = (slug: string) =>
  tools.admin.query(
    `update mcp_connections set expires_at = now() - interval '1 second' where server_id = $1`,
    [serverOf(slug).mcp_server_config_id],
  );

/** What the tool server itself answers to a token. */
async function isRefused(slug: string, token: string): Promise<boolean> {
  const answer = await fetch(running.get(slug)!.url, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' }),
  });
  await answer.body?.cancel();
  return answer.status === 401;
}

describe.each(kinds)('the authorization server of $slug', (kind) => {
  const { slug, says, refreshes, revokes, stepUp } = kind;

  it('connects an account, with which a response calls a tool', async (context) => {
    if (!running.has(slug)) context.skip(missing.get(slug));
    const server = await tools.register(slug, running.get(slug)!.url, { connection_mode: 'personal' });
    registered.set(slug, server);
    expect(server).toMatchObject({ status: 'auth_required' });
    expect((await connect(slug)).body.data.status).toBe('connected');
    await becomes('connected', slug);
    const names = [kind.tool, ...(stepUp === null ? [] : [stepUp])];
    await tools.update(server, { enabled_tools: names });
    expect(await call(slug)).toMatchObject({ status: 'completed', output: says });
  });

  it(
    refreshes
      ? 'refreshes a token that expired, and rotates what it is refreshed with'
      : 'refreshes nothing: a token that expired asks for another connection',
    async (context) => {
      if (!running.has(slug)) context.skip(missing.get(slug));
      const before = await tokensOf(slug);
      await expire(slug);
      if (!refreshes) {
        expect(before.refreshToken).toBeNull();
        expect(await call(slug)).toMatchObject({ error: { code: 'authorization_required' } });
        expect(await statusOf(slug)).toBe('auth_expired');
        await connect(slug);
        expect(await call(slug)).toMatchObject({ status: 'completed', output: says });
        return;
      }
      for (let before = await tokensOf(slug), round = 0; round < 2; round += 1) {
        await expire(slug);
        expect(await call(slug)).toMatchObject({ status: 'completed', output: says });
        const after = await tokensOf(slug);
        expect(after.accessToken).not.toBe(before.accessToken);
        expect(after.refreshToken).not.toBe(before.refreshToken);
        expect(await isRefused(slug, after.accessToken)).toBe(false);
        before = after;
      }
    },
  );

  if (stepUp !== null) {
    it('grants more scopes for a call that needs them', async (context) => {
      if (!running.has(slug)) context.skip(missing.get(slug));
      expect(await call(`${slug}-more`)).toMatchObject({ error: { code: 'authorization_required' } });
      expect(await statusOf(slug)).toBe('scope_required');
      await connect(slug);
      expect(await call(`${slug}-more`)).toMatchObject({ status: 'completed' });
      expect(await call(slug)).toMatchObject({ status: 'completed', output: says });
    });
  }

  it(
    revokes
      ? 'revokes the tokens of a connection that ends'
      : 'revokes nothing: the tokens of a connection that ends are erased alone',
    async (context) => {
      if (!running.has(slug)) context.skip(missing.get(slug));
      const { accessToken } = await tokensOf(slug);
      expect(await isRefused(slug, accessToken)).toBe(false);
      expect((await send('DELETE', connectionOf(slug))).status).toBe(200);
      expect(await isRefused(slug, accessToken)).toBe(revokes);
      // An earlier connection that was replaced is revoked by the sweep.
      const authorizationServers = serversFor(...running.get(slug)!.origins);
      await sweepOnce(sweeps.revokeConnections.sweep, { ...tools.database, secrets, authorizationServers });
      const { rowCount } = await tools.admin.query('select 1 from mcp_connections where server_id = $1', [
        serverOf(slug).mcp_server_config_id,
      ]);
      expect(rowCount).toBe(0);
      expect(await call(slug)).toMatchObject({ error: { code: 'authorization_required' } });
    },
  );
});

async function becomes(status: string, slug: string): Promise<void> {
  for (const deadline = Date.now() + 30_000; ; await sleep(100)) {
    const { data } = await tools.call('GET', `mcp-servers/${serverOf(slug).mcp_server_config_id}`);
    if (data.status === status) return;
    if (Date.now() > deadline) throw new Error(`The server is still ${data.status} ${data.last_error}.`);
  }
}
