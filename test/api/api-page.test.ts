import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { findBrowser, launchBrowser } from '../support/browser.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { openGateway, type TestGateway } from '../support/gateway.ts';
import { lookAt } from '../support/page-look.ts';

let database: TestDatabase;
let gateway: TestGateway;
let origin: string;

beforeAll(async () => {
  database = await createTestDatabase();
  gateway = await openGateway(database);
  origin = await gateway.app.listen({ host: '127.0.0.1', port: 0 });
});
afterAll(async () => {
  await gateway?.close();
  await database?.drop();
});

const ask = (path: string, accept: string, method = 'GET') =>
  fetch(`${origin}${path}`, { method, redirect: 'manual', headers: { accept } });

describe('where people begin', () => {
  it.each(['/', '/api', '/api/', '/api-proxy', '/api-proxy/?x=1'])(
    '(%s) a browser is led to the page',
    async (path) => {
      const answer = await ask(path, 'text/html,application/xhtml+xml,*/*;q=0.8');
      const page = path.startsWith('/api-proxy') ? '/api-proxy/docs/' : '/api/docs/';
      expect([answer.status, answer.headers.get('location')]).toEqual([302, page]);
      expect(answer.headers.get('vary')).toBe('Accept');
    },
  );

  it.each(['application/json', '*/*'])('a client that asks for %s gets a 404', async (accept) => {
    const answer = await ask('/', accept);
    const body = (await answer.json()) as { error: { code: string } };
    expect([answer.status, body.error.code]).toEqual([404, 'route_not_found']);
    expect((await ask('/', 'text/html', 'POST')).status).toBe(404);
  });
});

it.each(['/api', '/api-proxy'])('%s/openapi.json describes the same operations', async (prefix) => {
  const document = (await (await ask(`${prefix}/openapi.json`, '*/*')).json()) as {
    paths: object;
    servers: { url: string }[];
  };
  expect(Object.keys(document.paths)).toEqual(Object.keys(gateway.description.document.paths));
  expect(document.servers[0]!.url).toBe(prefix);
});

it('the page has the title of the API', async () => {
  const page = await (await ask('/api/docs/', 'text/html')).text();
  expect(page).toContain('<title>Platform API</title>');
});

it('texts of a form have an example of it, which the page shows', async () => {
  const document = await (await ask('/api/openapi.json', '*/*')).json();
  const bare = textsOfAForm(document).filter(
    ({ pattern, format, examples: [example] = [] }) =>
      example === undefined ||
      (pattern !== undefined && !new RegExp(pattern).test(example)) ||
      (format === 'date-time' && !example.startsWith('2026-11-')),
  );
  expect(bare).toEqual([]);
});

it('no parameter has an example, which the page would send as if it were chosen', async () => {
  const document = await (await ask('/api/openapi.json', '*/*')).json();
  const { paths } = document as { paths: Record<string, Record<string, { parameters?: object[] }>> };
  const parameters = Object.values(paths).flatMap((path) =>
    Object.values(path).flatMap((operation) => operation.parameters ?? []),
  );
  expect(parameters.length).toBeGreaterThan(100);
  expect(parameters.filter((each) => JSON.stringify(each).includes('"example'))).toEqual([]);
});

interface Text {
  format?: string;
  pattern?: string;
  examples?: string[];
}

/** Every text of bodies whose value a page would otherwise make up from its pattern. */
function textsOfAForm(part: unknown): Text[] {
  if (typeof part !== 'object' || part === null) {
    return [];
  }
  const { type, format, pattern } = part as { type?: unknown; format?: unknown; pattern?: unknown };
  const isText = type === 'string' && (typeof pattern === 'string' || format === 'date-time');
  const parts = Object.entries(part).filter(([name]) => name !== 'parameters');
  return [...(isText ? [part as Text] : []), ...parts.flatMap(([, each]) => textsOfAForm(each))];
}

it.each(['/api', '/api-proxy'])('%s/openapi.json is serialised once for all callers', async (prefix) => {
  await (await ask(`${prefix}/openapi.json`, '*/*')).text();
  const written = vi.spyOn(JSON, 'stringify');
  try {
    const [one, other] = await Promise.all(
      ['openapi.json', 'docs/json'].map(async (path) => (await ask(`${prefix}/${path}`, '*/*')).text()),
    );
    expect(one).toBe(other);
    const documents = written.mock.calls.filter(([value]) =>
      Object.hasOwn(Object(value) as object, 'openapi'),
    );
    expect(documents).toEqual([]);
  } finally {
    written.mockRestore();
  }
});

it.each(['%00', '%2e%2e/%2e%2e/index.js', '..%2f..%2fpackage.json', '%5c..%5cindex.js', 'nothing.js', '%ff'])(
  'there is nothing at the asset %s',
  async (path) => {
    const answer = await ask(`/api/docs/static/${path}`, '*/*');
    const body = (await answer.json()) as { error: { code: string } };
    expect([400, 404]).toContain(answer.status);
    expect(['malformed_http', 'route_not_found']).toContain(body.error.code);
  },
);

const executablePath = findBrowser();

describe.skipIf(executablePath === undefined)('in a browser', () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await launchBrowser(executablePath!);
  });
  afterAll(() => browser?.close());

  it.each(['/', '/api/docs', '/api-proxy/docs'])(
    'the page behind %s shows the operations, with no error and nothing missing',
    async (path) => {
      const seen = await lookAt(browser, `${origin}${path}`, '.opblock-summary-path');
      expect(seen.troubles).toEqual([]);
      expect(seen.text).toContain('/v1/spaces/{space_id}/responses');
      expect(seen.policy).toMatch(/^default-src 'none'; script-src 'self';/);
    },
    150_000,
  );
});
