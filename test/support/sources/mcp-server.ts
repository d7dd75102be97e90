import { createMcpHandler, McpServer, ResourceNotFoundError } from '@modelcontextprotocol/server';
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
}

export const mcpUri = (name: string): string =>
  `docs:///${name.split('/').map(encodeURIComponent).join('/')}`;

/** A server on the SDK, in both revisions of the protocol, whose resources can be edited. */
export async function startMcpSource(): Promise<McpSourceServer> {
  const files = new Map<string, File>();
  let token = 'first-token';
  let pageSize = Number.POSITIVE_INFINITY;
  let isDated = true;
  let clock = Date.parse('2025-01-01T00:00:00Z');
  const build = () => {
    const made = new McpServer({ name: 'documents', version: '1.0.0' }, { capabilities: { resources: {} } });
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
      const found = [...files].find(([name]) => mcpUri(name) === uri);
      if (found === undefined) throw new ResourceNotFoundError(uri);
      const [, { content }] = found;
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
  const fake = await startHttpFake((request) =>
    request.headers.get('authorization') === `Bearer ${token}`
      ? handler.fetch(request)
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
    put: (name, content) => {
      files.set(name, { content, modified: stamp() });
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
      return Promise.resolve();
    },
    renewCredential: () => {
      token = `token-${Math.trunc((clock += 1_000))}`;
      return Promise.resolve(value());
    },
    close: () => fake.stop(),
  };
}
