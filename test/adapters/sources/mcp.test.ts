import { afterEach, describe, expect, it } from 'vitest';
import { mcpProvider } from '#adapters/sources/mcp/provider.ts';
import { answerJson, startOddToolServer } from '../../support/odd-tool-server.ts';
import { startMcpSource } from '../../support/sources/mcp-server.ts';
import { listAll, openSource } from '../../support/sources/open-source.ts';
import { describeSource } from '../../support/sources/source-contract.ts';
import { startEverything } from '../../support/tool-servers.ts';

describeSource('resources of a tool server', {
  provider: mcpProvider,
  start: startMcpSource,
  narrower: () => ({ uri_patterns: ['docs:///folder/*'] }),
  pageSize: 100,
});

const brief = () => AbortSignal.timeout(20_000);

describe('an MCP source', () => {
  const ends: (() => Promise<unknown>)[] = [];
  afterEach(async () => {
    for (const end of ends.splice(0).toReversed()) await end();
  });
  const begin = async () => {
    const server = await startMcpSource();
    ends.push(() => server.close());
    return server;
  };
  const open = async (server: Parameters<typeof openSource>[1], token?: string) => {
    const source = await openSource(mcpProvider, server, token);
    ends.push(() => source.close!());
    return source;
  };
  const odd = async (before: Parameters<typeof startOddToolServer>[1]) => {
    const server = await startOddToolServer({}, before);
    ends.push(() => server.stop());
    const source = await open(plainly(server));
    return { server, source };
  };
  const plainly = ({ url, origin }: { url: string; origin: string }, scope: object = {}) => ({
    slug: 'mcp',
    scopeConfig: { url, ...scope },
    credential: null,
    allowedOrigins: [origin],
    roots: {},
  });

  it('reads the reference server, and again after it has forgotten the session', async () => {
    const first = await startEverything();
    const source = await open(plainly(first));
    const { documents } = await listAll(source);
    expect(documents.length).toBeGreaterThan(3);
    expect(documents).toContainEqual({
      ref: 'demo://resource/static/document/architecture.md',
      name: 'architecture.md',
      version: null,
      byteSize: null,
      mediaType: 'text/markdown',
      url: null,
    });
    await first.stop();
    const again = await startEverything(Number(new URL(first.url).port));
    ends.push(() => again.stop());
    const input = { ref: documents[0]!.ref, version: null, mediaType: null, maxBytes: 100_000 };
    // The first request may find the connection cut, the next one an unknown session.
    const found = await source.fetch(input, brief()).catch(() => source.fetch(input, brief()));
    expect(found).toMatchObject({ kind: 'content', mediaType: 'text/markdown' });
    expect(await source.exists('demo://resource/static/document/none.md', brief())).toBe(false);
  });

  it('opens one session for many requests and ends it', async () => {
    const methods: string[] = [];
    const { source } = await odd((asked, response, request) => {
      methods.push(asked?.method ?? request.method ?? '');
      if (asked?.method === 'initialize') {
        response.setHeader('mcp-session-id', 'session');
        return false;
      }
      if (asked?.method !== 'resources/list') return false;
      answerJson(response, asked.id, { resources: [] });
      return true;
    });
    await listAll(source);
    await listAll(source);
    await source.close!();
    expect(methods.filter((method) => method === 'initialize')).toHaveLength(1);
    expect(methods.filter((method) => method === 'resources/list')).toHaveLength(2);
    expect(methods).not.toContain('GET');
    expect(methods.at(-1)).toBe('DELETE');
  });

  it('takes what a server says of a change as its version, and nothing else', async () => {
    const server = await begin();
    await server.put('a.md', 'one');
    const [before] = (await listAll(await open(server))).documents;
    await server.put('a.md', 'two');
    const [after] = (await listAll(await open(server))).documents;
    expect(before!.version).not.toBe(after!.version);
    expect(before!.ref).toBe(after!.ref);
    server.dated(false);
    expect((await listAll(await open(server))).documents[0]!.version).toBeNull();
  });

  it('reads blobs as their bytes', async () => {
    const server = await begin();
    const bytes = Uint8Array.from({ length: 3_000 }, (_, at) => at % 256);
    await server.put('a.bin', bytes);
    const source = await open(server);
    const [a] = (await listAll(source)).documents;
    const found = await source.fetch({ ...a!, maxBytes: 3_000 }, brief());
    expect(found).toMatchObject({ kind: 'content', mediaType: 'application/octet-stream' });
    expect(found.kind === 'content' && Buffer.compare(found.content, bytes)).toBe(0);
    expect(await source.fetch({ ...a!, maxBytes: 2_999 }, brief())).toMatchObject({ code: 'too_large' });
  });

  it('lists the pages of the server and cuts long ones into its own', async () => {
    const server = await begin();
    for (let at = 0; at < 250; at += 1) await server.put(`n${at}.md`, 'text');
    server.page(7);
    expect(await listAll(await open(server))).toMatchObject({ pages: 36, truncated: false });
    server.page(130);
    const before = server.requests();
    const listing = await listAll(await open(server));
    expect(listing).toMatchObject({ pages: 4, truncated: false });
    expect(new Set(listing.documents.map(({ ref }) => ref)).size).toBe(250);
    expect(server.requests() - before).toBeLessThan(6);
  });

  it('continues a listing in another process', async () => {
    const server = await begin();
    for (let at = 0; at < 250; at += 1) await server.put(`n${at}.md`, 'text');
    const refs: string[] = [];
    for (let cursor: string | null = null, at = 0; at === 0 || cursor !== null; at += 1) {
      const page = await (await open(server)).list({ cursor, checkpoint: null }, brief());
      refs.push(...page.documents.map(({ ref }) => ref));
      cursor = page.next;
    }
    expect(new Set(refs).size).toBe(250);
    await expect(
      (await open(server)).list({ cursor: 'other', checkpoint: null }, brief()),
    ).rejects.toMatchObject({
      code: 'cursor_expired',
    });
  });

  it('lists only what fits its patterns', async () => {
    const server = await begin();
    for (const name of ['guide/a.md', 'guide/b.txt', 'notes/c.md', 'guide/deep/d.md'])
      await server.put(name, 'x');
    const named = async (...uri_patterns: string[]) => {
      const source = await open({ ...server, scopeConfig: { ...server.scopeConfig, uri_patterns } });
      return (await listAll(source)).documents.map(({ name }) => name);
    };
    expect(await named('docs:///guide/*')).toEqual(['guide/a.md', 'guide/b.txt', 'guide/deep/d.md']);
    expect(await named('docs:///guide/*.md')).toEqual(['guide/a.md', 'guide/deep/d.md']);
    expect(await named('*/deep/*', '*c.md')).toEqual(['notes/c.md', 'guide/deep/d.md']);
    expect(await named('docs:///notes/c.md')).toEqual(['notes/c.md']);
    const narrow = await open({
      ...server,
      scopeConfig: { ...server.scopeConfig, uri_patterns: ['docs:///n*'] },
    });
    expect(await narrow.exists('docs:///guide/a.md', brief())).toBe(false);
  });

  it('ends at its limit of documents as truncated', async () => {
    const server = await begin();
    for (let at = 0; at < 5; at += 1) await server.put(`n${at}.md`, 'text');
    const limited = async (max_documents: number) =>
      listAll(await open({ ...server, scopeConfig: { ...server.scopeConfig, max_documents } }));
    expect(await limited(4)).toMatchObject({ documents: { length: 4 }, truncated: true });
    expect(await limited(5)).toMatchObject({ documents: { length: 5 }, truncated: false });
  });

  it('sends a header or the token of a client', async () => {
    const server = await begin();
    await server.put('a.md', 'text');
    const { origin } = server.credential!;
    const value = { kind: 'header', name: 'Authorization', value: 'Bearer first-token' } as const;
    expect((await listAll(await open({ ...server, credential: { origin, value } }))).documents).toHaveLength(
      1,
    );
    const client = {
      kind: 'oauth2_client',
      client_id: 'c',
      client_secret: 's',
      token_url: 'https://token.example/',
    } as const;
    const source = await open({ ...server, credential: { origin, value: client } }, 'first-token');
    expect((await listAll(source)).documents).toHaveLength(1);
  });

  it('says that a server without resources is no source', async () => {
    const { source } = await odd((asked, response) => {
      if (asked?.method !== 'resources/list') return false;
      response.writeHead(200, { 'content-type': 'application/json' });
      const error = { code: -32_601, message: 'Method not found' };
      response.end(JSON.stringify({ jsonrpc: '2.0', id: asked.id, error }));
      return true;
    });
    await expect(source.check(brief())).rejects.toMatchObject({ code: 'scope_invalid' });
  });

  it.each(['HTTP 403', 'an error'])(
    'reads the other resources in the same session where the server answers %s for one of them',
    async (how) => {
      const asked: string[] = [];
      const { source } = await odd((request, response) => {
        if (request?.method !== undefined) asked.push(request.method);
        if (request?.method !== 'resources/read') return false;
        const { uri } = request.params as { uri: string };
        if (uri !== 'docs:///secret.md') {
          answerJson(response, request.id, { contents: [{ uri, text: 'open' }] });
        } else if (how === 'HTTP 403') {
          response.writeHead(403).end();
        } else {
          response.writeHead(200, { 'content-type': 'application/json' });
          const error = { code: -32_603, message: 'Not for you' };
          response.end(JSON.stringify({ jsonrpc: '2.0', id: request.id, error }));
        }
        return true;
      });
      const read = (name: string) =>
        source.fetch({ ref: `docs:///${name}`, version: null, mediaType: null, maxBytes: 1_000 }, brief());
      expect(await read('a.md')).toMatchObject({ kind: 'content' });
      if (how === 'HTTP 403') {
        expect(await read('secret.md')).toEqual({ kind: 'skipped', code: 'forbidden_by_source' });
        // Asked for what a whole listing lacks.
        expect(await source.exists('docs:///secret.md', brief())).toBe(false);
        expect(await source.exists('docs:///a.md', brief())).toBe(true);
      } else {
        // A failure of the document alone, while the source answers otherwise.
        await expect(read('secret.md')).rejects.toMatchObject({ code: 'source_unreachable' });
      }
      expect(await read('b.md')).toMatchObject({ kind: 'content' });
      expect(asked.filter((method) => method === 'initialize')).toHaveLength(1);
    },
  );

  it.each(['initialize', 'resources/list'])(
    'ends a run where the server answers HTTP 403 to %s',
    async (method) => {
      const { source } = await odd((request, response) => {
        if (request?.method !== method) return false;
        response.writeHead(403).end();
        return true;
      });
      const input = { ref: 'docs:///a.md', version: null, mediaType: null, maxBytes: 1_000 };
      const work = method === 'initialize' ? source.fetch(input, brief()) : source.check(brief());
      await expect(work).rejects.toMatchObject({ code: 'auth_failed' });
    },
  );

  it.each([
    ['the SDK for Python', 0, 'gone'],
    ['one with a code of its own', -31_999, 'gone'],
    ['the earlier revision', -32_002, 'gone'],
    ['the later revision', -32_602, 'gone'],
    ['one that has failed', -32_603, 'source_unreachable'],
    ['one without the method', -32_601, 'scope_invalid'],
    ['one that asks for consent', -32_042, 'source_unreachable'],
    ['one whose time is over', -32_001, 'source_unreachable'],
  ])(
    'takes the error of a server such as %s for what it says of an unlisted resource',
    async (_, code, is) => {
      const { source } = await odd((asked, response) => {
        if (asked?.method !== 'resources/read') return false;
        response.writeHead(200, { 'content-type': 'application/json' });
        const error = { code, message: 'words of the server' };
        response.end(JSON.stringify({ jsonrpc: '2.0', id: asked.id, error }));
        return true;
      });
      const outcome = await source.exists('docs:///a.md', brief()).then(
        (exists) => (exists ? 'there' : 'gone'),
        (failure: { code: string }) => failure.code,
      );
      expect(outcome).toBe(is);
    },
  );

  it('ends a listing whose cursor repeats, and one without an end', async () => {
    let asked = 0;
    const list = (cursor: () => string) =>
      odd((request, response) => {
        if (request?.method !== 'resources/list') return false;
        asked += 1;
        answerJson(response, request.id, { resources: [], nextCursor: cursor() });
        return true;
      });
    expect(await listAll((await list(() => 'again')).source)).toMatchObject({ truncated: true, pages: 2 });
    asked = 0;
    expect(await listAll((await list(() => String(asked))).source)).toMatchObject({ truncated: true });
    expect(asked).toBe(2_000);
  });

  it.each([
    ['more bytes than an answer may have', { resources: [{ uri: 'a:b', name: 'x'.repeat(5_000_000) }] }],
    [
      'more values than an answer may have',
      { resources: [], other: Array.from({ length: 260_000 }, () => 1) },
    ],
    ['another shape', { resources: { a: 1 } }],
    ['an endless cursor', { resources: [], nextCursor: 'x'.repeat(5_000) }],
  ])('refuses a list of %s', async (_, result) => {
    const { source } = await odd((asked, response) => {
      if (asked?.method !== 'resources/list') return false;
      answerJson(response, asked.id, result);
      return true;
    });
    await expect(listAll(source)).rejects.toMatchObject({ name: 'SourceFailure', code: 'source_invalid' });
  });

  it('survives values that are nested without end', async () => {
    const deep = `{"jsonrpc":"2.0","id":ID,"result":{"resources":[{"uri":"a:b","name":"n","_meta":${'{"a":'.repeat(50_000)}1${'}'.repeat(50_000)}}]}}`;
    const { source } = await odd((asked, response) => {
      if (asked?.method !== 'resources/list') return false;
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(deep.replace('ID', JSON.stringify(asked.id)));
      return true;
    });
    const outcome = await listAll(source).then(
      ({ documents }) => documents.length,
      (error: { code: string }) => error.code,
    );
    expect([1, 'source_invalid', 'source_unreachable']).toContain(outcome);
  });

  it('leaves out references that are too long', async () => {
    const { source } = await odd((asked, response) => {
      if (asked?.method !== 'resources/list') return false;
      const resources = [
        { uri: `a:${'x'.repeat(2_000)}`, name: 'long' },
        { uri: 'https://site.example/b', name: 'n\0'.repeat(600) },
      ];
      answerJson(response, asked.id, { resources });
      return true;
    });
    const { documents } = await listAll(source);
    expect(documents).toMatchObject([{ ref: 'https://site.example/b', url: 'https://site.example/b' }]);
    expect(documents[0]!.name).toHaveLength(500);
    expect(documents[0]!.name).not.toContain('\0');
  });

  it('names what it may not reach', async () => {
    const server = await begin();
    const source = await open({ ...server, allowedOrigins: [] });
    await expect(source.check(brief())).rejects.toMatchObject({ code: 'scope_invalid' });
  });
});
