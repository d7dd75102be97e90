import {
  createMcpHandler,
  McpServer,
  ResourceNotFoundError,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server';
import type { CredentialValue } from '#domain/capabilities/credentials/credential-value.ts';
import { startHttpFake } from './http-fake.ts';
import type { FakeSource } from './source-contract.ts';

interface File {
  content: string | Uint8Array;
  modified: string;
}

export interface McpSourceServer extends FakeSource {
  /** Resources of one answer of the server; by default all are in one. */
  page(size: number): void;
  /** Whether the server says when a resource was changed. */
  dated(isDated: boolean): void;
  /** Reports a change of a resource, without one. */
  report(name: string): void;
  /** URIs that clients of the earlier revisions have subscribed to. */
  subscribed: string[];
}

export interface McpSourceOptions {
  /** Whether only the revisions before 2026-07-28 are spoken, in sessions with a stream of their own. */
  isEarlier?: boolean;
  /** What the server declares, and does. */
  subscribe?: boolean;
  listChanged?: boolean;
}

/** Sessions of the earlier revisions, each with a server of its own. */
class Sessions {
  readonly #build: () => McpServer;
  readonly #open = new Map<
    string,
    { server: McpServer; transport: WebStandardStreamableHTTPServerTransport }
  >();

  constructor(build: () => McpServer) {
    this.#build = build;
  }

  async fetch(request: Request): Promise<Response> {
    const id = request.headers.get('mcp-session-id');
    const known = id === null ? undefined : this.#open.get(id);
    if (known !== undefined) return known.transport.handleRequest(request);
    if (id !== null) return new Response(null, { status: 404 });
    const server = this.#build();
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: () => crypto.randomUUID(),
      onsessioninitialized: (made) => void this.#open.set(made, { server, transport }),
      onsessionclosed: (closed) => void this.#open.delete(closed),
    });
    await server.connect(transport);
    return transport.handleRequest(request);
  }

  each(work: (server: McpServer) => Promise<void>): void {
    for (const { server } of this.#open.values()) void work(server).catch(() => {});
  }
}

export const mcpUri = (name: string): string =>
  `docs:///${name.split('/').map(encodeURIComponent).join('/')}`;

/** A server on the SDK, in both revisions of the protocol, whose resources can be edited. */
export async function startMcpSource({
  isEarlier = false,
  subscribe = false,
  listChanged = false,
}: McpSourceOptions = {}): Promise<McpSourceServer> {
  const subscribed: string[] = [];
  const files = new Map<string, File>();
  let token = 'first-token';
  let pageSize = Number.POSITIVE_INFINITY;
  let isDated = true;
  let clock = Date.parse('2025-01-01T00:00:00Z');
  const build = () => {
    const resources = { subscribe, listChanged };
    const made = new McpServer({ name: 'documents', version: '1.0.0' }, { capabilities: { resources } });
    if (subscribe) {
      made.server.setRequestHandler('resources/subscribe', ({ params: { uri } }) => {
        if (![...files.keys()].some((name) => mcpUri(name) === uri)) throw new ResourceNotFoundError(uri);
        subscribed.push(uri);
        return {};
      });
    }
    made.server.setRequestHandler('resources/list', ({ params }) => {
      const from = Number(params?.cursor ?? 0);
      const all = [...files];
      const end = Math.min(from + pageSize, all.length);
      return {
        resources: all.slice(from, end).map(([name, { content, modified }]) => ({
          uri: mcpUri(name),
          name,
          mimeType: typeof content === 'string' ? 'text/markdown' : 'application/octet-stream',
          size: Buffer.byteLength(content),
          ...(isDated && { annotations: { lastModified: modified } }),
        })),
        ...(end < all.length && { nextCursor: String(end) }),
      };
    });
    made.server.setRequestHandler('resources/read', ({ params: { uri } }) => {
      const found = files.get(decodeURIComponent(uri.slice(mcpUri('').length)));
      if (found === undefined) throw new ResourceNotFoundError(uri);
      const { content } = found;
      return {
        contents: [
          typeof content === 'string'
            ? { uri, mimeType: 'text/markdown', text: content }
            : { uri, mimeType: 'application/octet-stream', blob: Buffer.from(content).toString('base64') },
        ],
      };
    });
    return made;
  };
  const handler = createMcpHandler(build, { legacy: 'stateless' });
  const sessions = new Sessions(build);
  const reportUpdate = (uri: string) => {
    if (!subscribe) return;
    handler.notify.resourceUpdated(uri);
    if (subscribed.includes(uri)) sessions.each(({ server }) => server.sendResourceUpdated({ uri }));
  };
  const reportList = () => {
    if (!listChanged) return;
    handler.notify.resourcesChanged();
    sessions.each(({ server }) => server.sendResourceListChanged());
  };
  const fake = await startHttpFake((request) =>
    request.headers.get('authorization') === `Bearer ${token}`
      ? (isEarlier ? sessions : handler).fetch(request)
      : new Response(null, { status: 401, headers: { 'www-authenticate': 'Bearer' } }),
  );
  const stamp = () => new Date((clock += 1_000)).toISOString();
  const value = (): CredentialValue => ({ kind: 'bearer', token });
  return {
    ...fake,
    slug: 'mcp',
    scopeConfig: { url: `${fake.origin}/mcp` },
    credential: { origin: fake.origin, value: value() },
    allowedOrigins: [fake.origin],
    roots: {},
    page: (size) => {
      pageSize = size;
    },
    dated: (is) => {
      isDated = is;
    },
    subscribed,
    report: (name) => reportUpdate(mcpUri(name)),
    put: (name, content) => {
      const isNew = !files.has(name);
      files.set(name, { content, modified: stamp() });
      (isNew ? reportList : () => reportUpdate(mcpUri(name)))();
      return Promise.resolve();
    },
    move: (from, to) => {
      const file = files.get(from);
      if (file !== undefined) files.set(to, { ...file, modified: stamp() });
      files.delete(from);
      return Promise.resolve();
    },
    remove: (name) => {
      files.delete(name);
      reportList();
      return Promise.resolve();
    },
    renewCredential: () => {
      token = `token-${Math.trunc((clock += 1_000))}`;
      return Promise.resolve(value());
    },
    close: () => fake.stop(),
  };
}
