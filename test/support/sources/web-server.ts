import { createHash } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { startRestartable } from './restartable-server.ts';
import type { SourceServer } from './source-server.ts';

export type Route = (request: IncomingMessage, response: ServerResponse) => void;

export interface WebServer extends SourceServer {
  origin: string;
  /** Answers of their own, by path with query: traps, redirects, a robots.txt. */
  routes: Map<string, Route>;
  /** Paths that were asked for, in order. */
  paths: string[];
  /** Of a document. */
  address(name: string): string;
}

interface Stored {
  content: Buffer;
  etag: string;
}

const types: readonly (readonly [string, string])[] = [
  ['.html', 'text/html; charset=utf-8'],
  ['.md', 'text/markdown; charset=utf-8'],
  ['.png', 'image/png'],
  ['.txt', 'text/plain'],
];
const sitemapPages = 500;

const pathOf = (name: string): string => `/${name.split('/').map(encodeURIComponent).join('/')}`;
const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');

/** A page of HTML with links. */
export const pageOf = (links: readonly string[], head = ''): string =>
  `<!doctype html><html><head>${head}</head><body>${links.map((href) => `<a href="${escaped(href)}">x</a>`).join('\n')}</body></html>`;

/** A static server with ETags and conditional requests, an index page of all documents and sitemaps of them. */
export async function startWebServer(scope: Record<string, unknown> = {}): Promise<WebServer> {
  const stored = new Map<string, Stored>();
  const routes = new Map<string, Route>();
  const paths: string[] = [];
  const address = (name: string) => new URL(pathOf(name), origin).href;

  const sitemapOf = (names: readonly string[]) =>
    `<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">${names
      .map((name) => `<url><loc>${escaped(address(name))}</loc></url>`)
      .join('\n')}</urlset>`;
  const generated = (path: string): [string, string] | null => {
    const names = [...stored.keys()];
    if (path === '/') return [types[0]![1], pageOf(names.map(pathOf))];
    const part = /^\/sitemap-(\d+)\.xml$/.exec(path)?.[1];
    if (part !== undefined) {
      return ['application/xml', sitemapOf(names.slice(Number(part) * sitemapPages).slice(0, sitemapPages))];
    }
    if (path !== '/sitemap.xml') return null;
    if (names.length <= sitemapPages) return ['application/xml', sitemapOf(names)];
    const parts = Array.from({ length: Math.ceil(names.length / sitemapPages) }, (_, at) => at);
    const entries = parts.map((at) => `<sitemap><loc>${origin}/sitemap-${at}.xml</loc></sitemap>`);
    return ['application/xml', `<sitemapindex>${entries.join('')}</sitemapindex>`];
  };
  const answer: Route = (request, response) => {
    const path = request.url ?? '/';
    paths.push(path);
    const route = routes.get(path);
    if (route !== undefined) return route(request, response);
    const page = generated(path);
    if (page !== null) return void response.writeHead(200, { 'content-type': page[0] }).end(page[1]);
    const found = stored.get(decodeURIComponent(path.slice(1)));
    if (found === undefined) return void response.writeHead(404).end('no such page');
    if (request.headers['if-none-match'] === found.etag) {
      return void response.writeHead(304, { etag: found.etag }).end();
    }
    const type = types.find(([ending]) => path.endsWith(ending))?.[1] ?? 'application/octet-stream';
    response.writeHead(200, { 'content-type': type, etag: found.etag }).end(found.content);
  };
  const { origin, start, stop } = await startRestartable(answer);
  const put = (name: string, content: string | Uint8Array) => {
    const bytes = Buffer.from(content);
    const etag = `"${createHash('sha1').update(bytes).digest('hex')}"`;
    stored.set(name, { content: bytes, etag });
    return Promise.resolve();
  };
  return {
    slug: 'web',
    scopeConfig: { start_urls: [`${origin}/`], mode: 'sitemap', max_pages: 5_000, ...scope },
    credential: null,
    allowedOrigins: [origin],
    roots: {},
    origin,
    routes,
    paths,
    address,
    put,
    move: (from, to) => {
      const { content } = stored.get(from)!;
      stored.delete(from);
      return put(to, content);
    },
    remove: (name) => {
      stored.delete(name);
      return Promise.resolve();
    },
    requests: () => paths.length,
    stop,
    start,
    close: stop,
  };
}
