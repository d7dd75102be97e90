import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createGuardedFetch } from '#adapters/egress/guarded-fetch.ts';
import { createToolServers } from '#adapters/tools/mcp-client.ts';
import {
  schemaHash,
  type DiscoveredTool,
  type ToolServerGateway,
} from '#domain/capabilities/tools/tool-server.ts';
import { startToolServer, type ToolServer } from '../support/tool-servers.ts';
import { unsharedSession } from '../support/unshared-session.ts';

const eras = ['modern', 'legacy'] as const;
const forever = new AbortController().signal;
const spaceId = '0199a000-0000-7000-8000-000000000001';
const tenantId = 'tenant';
const toSpec = (url: string) => ({ tenantId, spaceId, url, credentialRef: null, credentialHeader: null });
const gatewayTo = (...origins: string[]): ToolServerGateway =>
  createToolServers({ fetch: createGuardedFetch(origins), credentials: [], env: {} });

describe.each(eras)('a tool server of the %s revision', (era) => {
  let server: ToolServer;
  let gateway: ToolServerGateway;
  let tools: Map<string, DiscoveredTool>;

  beforeAll(async () => {
    server = await startToolServer({ era });
    gateway = gatewayTo(server.origin);
    tools = new Map(
      (await gateway.discover(toSpec(server.url), forever)).tools.map((tool) => [tool.name, tool]),
    );
  });
  afterAll(() => server?.stop());

  const call = (name: string, args: Record<string, unknown>, key = 'key') => {
    const outgoing = {
      tool: name,
      arguments: args,
      idempotencyKey: key,
      schemaHash: schemaHash(tools.get(name)!),
    };
    return gateway.call(toSpec(server.url), outgoing, {
      signal: forever,
      session: unsharedSession(),
      confirm: () => Promise.resolve(true),
    });
  };

  it('gets the key with a call as a header and in _meta', async () => {
    expect(await call('keyed_add', { item: 'a' }, 'one')).toEqual({ kind: 'succeeded', text: 'added a' });
    expect(server.arrivals().at(-1)).toMatchObject({ key: 'one', meta_key: 'one', item: 'a' });
  });

  it('reports a failure of the tool and arguments that it refuses', async () => {
    expect(await call('break', {})).toMatchObject({
      kind: 'failed',
      error: 'mcp_tool_execution_error',
      text: 'the tool broke',
    });
    expect(await call('lookup', { item: 7 })).toMatchObject({ kind: 'failed' });
  });

  it('leaves the outcome unknown when the connection breaks after the call', async () => {
    await server.control({ drop: true });
    await expect(call('keyed_add', { item: 'b' }, 'two')).rejects.toMatchObject({ sent: true });
    await server.control({ drop: false });
    expect(server.effects().at(-1)).toMatchObject({ item: 'b' });
  });

  it('is not called when the tool is not what was approved', async () => {
    const before = server.arrivals().length;
    const outgoing = {
      tool: 'keyed_add',
      arguments: { item: 'c' },
      idempotencyKey: 'k',
      schemaHash: 'other',
    };
    expect(
      await gateway.call(toSpec(server.url), outgoing, {
        signal: forever,
        session: unsharedSession(),
        confirm: () => Promise.resolve(true),
      }),
    ).toMatchObject({ kind: 'changed' });
    expect(server.arrivals()).toHaveLength(before);
  });

  it('is not called unless the caller confirms it, and an error of that is no failure of the server', async () => {
    const before = server.arrivals().length;
    const lookup = {
      tool: 'keyed_add',
      arguments: { item: 'e' },
      idempotencyKey: 'k',
      schemaHash: schemaHash(tools.get('keyed_add')!),
    };
    const confirming = (confirm: () => Promise<boolean>) =>
      gateway.call(toSpec(server.url), lookup, { signal: forever, session: unsharedSession(), confirm });
    expect(await confirming(() => Promise.resolve(false))).toEqual({ kind: 'unconfirmed' });
    const away = new Error('the database is away');
    await expect(confirming(() => Promise.reject(away))).rejects.toBe(away);
    expect(server.arrivals()).toHaveLength(before);
  });

  it('that is unreachable has certainly not been called', async () => {
    await server.stop();
    await expect(call('keyed_add', { item: 'd' })).rejects.toMatchObject({
      code: 'unreachable',
      sent: false,
    });
  });
});

describe('a server that misbehaves', () => {
  let answer: (request: IncomingMessage, response: ServerResponse) => void;
  const server = createServer((request, response) => answer(request, response));
  let url: string;

  beforeAll(async () => {
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;
  });
  afterAll(() => {
    server.closeAllConnections();
    server.close();
  });

  const discover = () => gatewayTo(new URL(url).origin).discover(toSpec(url), forever);
  const secret = 'Bearer of bad news';

  it.each([
    ['asks for a credential', 401, 'unauthorized'],
    ['forbids', 403, 'http_error'],
    ['breaks', 500, 'http_error'],
    ['sends us elsewhere', 302, 'http_error'],
  ])('and %s is described by a code alone', async (_what, status, code) => {
    answer = (_request, response) => {
      response.writeHead(status, { location: 'http://169.254.169.254/', 'content-type': 'text/plain' });
      response.end(secret);
    };
    const failure = (await discover().catch((error: unknown) => error)) as Error;
    expect(failure).toMatchObject({ name: 'ToolServerFailure', code, sent: false });
    expect(`${failure.message} ${failure.stack} ${String(failure.cause)}`).not.toContain(secret);
  });

  it('sends more than the limit is cut off', async () => {
    answer = (_request, response) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      const more = () => {
        while (!response.destroyed && response.write('x'.repeat(65_536)));
        if (!response.destroyed) response.once('drain', more);
      };
      more();
    };
    await expect(discover()).rejects.toMatchObject({ code: 'too_large' });
  });

  it('receives a credential only when it is bound to its origin, and to its space or to none', async () => {
    const seen: (string | undefined)[] = [];
    answer = (request, response) => {
      seen.push(request.headers.authorization ?? String(request.headers['x-token']));
      response.writeHead(500).end();
    };
    const { origin } = new URL(url);
    const gateway = createToolServers({
      fetch: createGuardedFetch([origin]),
      credentials: [
        `GIVEN@${origin}`,
        `OWN@${origin}#${spaceId}`,
        `FOREIGN@${origin}#${spaceId.replace(/1$/, '2')}`,
        'OTHER@https://tools.example.com',
      ],
      env: { GIVEN: 'good', OWN: 'good', FOREIGN: 'bad', OTHER: 'bad', LOOSE: 'bad' },
    });
    const ask = (credentialRef: string, credentialHeader: string | null = null) =>
      gateway
        .discover({ tenantId, spaceId, url, credentialRef, credentialHeader }, forever)
        .catch((error: unknown) => error);
    for (const name of ['FOREIGN', 'OTHER', 'LOOSE']) {
      expect(await ask(name)).toMatchObject({ code: 'credential_missing' });
    }
    expect(seen).toEqual([]);
    await ask('GIVEN');
    await ask('OWN');
    await ask('GIVEN', 'X-Token');
    expect(new Set(seen)).toEqual(new Set(['Bearer good', 'good']));
  });
});
