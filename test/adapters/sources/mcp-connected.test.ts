import { afterEach, describe, expect, it } from 'vitest';
import { createGuardedFetch } from '#adapters/egress/guarded-fetch.ts';
import { createSourceProviders } from '#adapters/sources/create-source-providers.ts';
import { mcpProvider } from '#adapters/sources/mcp/provider.ts';
import type {
  ConnectionSource,
  UsableConnection,
} from '#domain/capabilities/connections/connection-source.ts';
import type { CredentialUse } from '#domain/capabilities/credentials/credential-source.ts';
import type { CredentialValue } from '#domain/capabilities/credentials/credential-value.ts';
import type { SpaceServer } from '#domain/capabilities/tools/space-server.ts';
import type { ToolServerSpec } from '#domain/capabilities/tools/tool-server.ts';
import { newId } from '#domain/foundation/kernel/ids.ts';
import type { Source } from '#domain/knowledge/connectors/source.ts';
import { mcpUri, startMcpSource, type McpSourceServer } from '../../support/sources/mcp-server.ts';
import { listAll } from '../../support/sources/open-source.ts';
import { startEverything } from '../../support/tool-servers.ts';

const ids = { tenantId: newId(), spaceId: newId(), principalId: newId() };
const brief = () => AbortSignal.timeout(20_000);

/** The space's account at a server: each token is that of its generation. */
class Account implements ConnectionSource {
  readonly #server: McpSourceServer;
  readonly did: string[] = [];
  #token = 'first-token';
  #generation = 1;
  /** Whether the authorization server gives a token that the server takes. */
  isGood = true;

  constructor(server: McpSourceServer) {
    this.#server = server;
  }

  read(): Promise<UsableConnection> {
    return Promise.resolve(this.#usable());
  }

  async renew(): Promise<UsableConnection> {
    this.did.push('renew');
    this.#generation += 1;
    const renewed = await this.#server.renewCredential!();
    this.#token = this.isGood && renewed.kind === 'bearer' ? renewed.token : 'refused';
    return this.#usable();
  }

  refuse(): Promise<void> {
    this.did.push('refuse');
    return Promise.resolve();
  }

  needScope(...[, , scope]: Parameters<ConnectionSource['needScope']>): Promise<void> {
    this.did.push(`needs ${scope}`);
    return Promise.resolve();
  }

  #usable(): UsableConnection {
    const [connectionId, tokenType] = ['connection', 'Bearer'] as const;
    return {
      connectionId,
      generation: this.#generation,
      accessToken: this.#token,
      tokenType,
      dpopKey: null,
    };
  }
}

describe('the source of a connected tool server', () => {
  const ends: (() => unknown)[] = [];
  afterEach(async () => {
    for (const end of ends.splice(0).toReversed()) await end();
  });
  const begin = async (...options: Parameters<typeof startMcpSource>) => {
    const server = await startMcpSource(...options);
    ends.push(() => server.close());
    await server.put('a.md', 'one');
    return server;
  };
  const open = async (
    toolServer: SpaceServer,
    {
      value = null,
      connections,
      allowed = [],
    }: { value?: CredentialValue | null; connections?: ConnectionSource; allowed?: readonly string[] } = {},
  ): Promise<{ source: Source; used: CredentialUse[] }> => {
    const used: CredentialUse[] = [];
    const providers = createSourceProviders({
      fetch: createGuardedFetch(allowed),
      connect: () => Promise.reject(new Error('no socket')),
      roots: new Map(),
      openCredential: (use) => {
        used.push(use);
        return Promise.resolve(value && { version: 1, value });
      },
      stored: { read: () => Promise.reject(new Error('no token')), refused: () => {} },
      ...(connections && { connections }),
      providers: [mcpProvider],
    });
    const scopeConfig = providers.parseScope('mcp', { server_id: newId() });
    const use = { ...ids, connectorId: newId(), providerSlug: 'mcp', scopeConfig, credentialId: null };
    const source = await providers.open({ ...use, toolServer });
    ends.push(() => source.close!());
    return { source, used };
  };
  const specOf = (url: string, more: Partial<ToolServerSpec> = {}): ToolServerSpec => ({
    tenantId: ids.tenantId,
    spaceId: ids.spaceId,
    url,
    credentialRef: null,
    credentialHeader: null,
    ...more,
  });
  const connection = { tenantId: ids.tenantId, serverId: newId(), ownerId: null };
  const shared = async (server: McpSourceServer) => {
    const account = new Account(server);
    const spec = specOf(`${server.origin}/mcp`, { connection });
    const { source } = await open(spec, { connections: account, allowed: server.allowedOrigins });
    return { account, source };
  };

  it('is the reference server at the address of the server', async () => {
    const everything = await startEverything();
    ends.push(() => everything.stop());
    const { source } = await open(specOf(everything.url), { allowed: [everything.origin] });
    expect((await listAll(source)).documents.length).toBeGreaterThan(3);
  });

  it('uses the stored credential of the server, bound to the address that the server has now', async () => {
    const server = await begin();
    const credentialId = newId();
    const spec = specOf(`${server.origin}/mcp`, { stored: { ...ids, credentialId } });
    const { value } = server.credential!;
    const { source, used } = await open(spec, { value, allowed: server.allowedOrigins });
    expect((await listAll(source)).documents).toMatchObject([{ name: 'a.md' }]);
    expect(used).toEqual([{ ...ids, credentialId, url: server.origin }]);
    // Null: the credential is of the origin that the server had before.
    await expect(open(spec, { value: null })).rejects.toMatchObject({ code: 'auth_failed' });
  });

  it('goes on with a refreshed token in the middle of a session', async () => {
    const server = await begin();
    const { account, source } = await shared(server);
    expect((await listAll(source)).documents).toHaveLength(1);
    await server.renewCredential!();
    const input = { ref: mcpUri('a.md'), version: null, mediaType: null, maxBytes: 100 };
    expect(await source.fetch(input, brief())).toMatchObject({ kind: 'content' });
    expect(account.did).toEqual(['renew']);
  });

  it('reports an account whose refreshed token is refused, too', async () => {
    const server = await begin();
    const { account, source } = await shared(server);
    account.isGood = false;
    await server.renewCredential!();
    await expect(source.check(brief())).rejects.toMatchObject({ code: 'auth_failed' });
    expect(account.did).toEqual(['renew', 'refuse']);
  });

  it.each([
    ['what is forbidden', {}, []],
    [
      'a lack of scopes',
      { 'www-authenticate': 'Bearer error="insufficient_scope", scope="files.read"' },
      ['needs files.read'],
    ],
  ])('leaves the account of the space as it is for %s', async (_, headers, did) => {
    const server = await begin();
    const { account, source } = await shared(server);
    server.interfere((_request, response) => {
      response.writeHead(403, headers).end();
      return true;
    });
    await expect(source.check(brief())).rejects.toMatchObject({ code: 'auth_failed' });
    expect(account.did).toEqual(did);
  });

  it.each([true, false])(
    'subscribes with the account of the space (earlier revision: %s)',
    async (isEarlier) => {
      const server = await begin({ isEarlier, subscribe: true, listChanged: true });
      const { account, source } = await shared(server);
      await server.renewCredential!();
      let changes = 0;
      const stop = new AbortController();
      const { promise: subscribed, resolve: onSubscribed } = Promise.withResolvers<boolean>();
      const end = source.watch!(
        {
          refs: [mcpUri('a.md')],
          pace: () => Promise.resolve(),
          onSubscribed,
          onChange: () => (changes += 1),
        },
        stop.signal,
      );
      end.catch(() => {});
      await Promise.race([subscribed, end]);
      await server.put('a.md', 'two');
      await expect.poll(() => changes).toBe(1);
      stop.abort();
      await expect(end).rejects.toThrow(/abort/i);
      expect(account.did).toEqual(['renew']);
    },
  );

  it.each([
    ['missing', 'scope_invalid', /no tool server/],
    ['disabled', 'scope_invalid', /disabled/],
    ['personal', 'auth_failed', /account of each person/],
    ['variable', 'auth_failed', /variable of the worker/],
  ] as const)('is not opened where the server is %s', async (problem, code, message) => {
    const failure = await open(problem).catch((error: unknown) => error);
    expect(failure).toMatchObject({ name: 'SourceFailure', code });
    expect((failure as Error).message).toMatch(message);
  });

  it('is not opened without an account', async () => {
    const server = await begin();
    const account = Object.assign(new Account(server), { read: () => Promise.resolve(null) });
    const spec = specOf(`${server.origin}/mcp`, { connection });
    const { source } = await open(spec, { connections: account, allowed: server.allowedOrigins });
    await expect(source.check(brief())).rejects.toMatchObject({
      code: 'auth_failed',
      message: 'No account is connected: somebody has to connect one.',
    });
    expect(account.did).toEqual([]);
  });
});
