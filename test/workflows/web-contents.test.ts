import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { ConnectorActors } from '#test/support/sources/connector-actors.ts';
import { pageOf, startWebServer, type WebServer } from '#test/support/sources/web-server.ts';

let actors: ConnectorActors;
let server: WebServer;

beforeAll(async () => {
  actors = await ConnectorActors.open();
  server = await startWebServer({ mode: 'crawl' });
});
afterAll(async () => {
  await server?.close();
  await actors?.stop();
});

const page =
  '<!doctype html><html><body><h1>Ringing</h1><p>The albatross was ringed in May.</p></body></html>';
const corpus = new URL('../corpus/files/', import.meta.url);

it('documents of a website are read by their contents, whatever type the server and the address claim', async () => {
  const pdf = await readFile(new URL('pypdf-hello-world.pdf', corpus));
  const answers: Record<string, [claim: string, content: string | Buffer]> = {
    '/claims-pdf.pdf': ['application/pdf', page],
    '/claims-html.html': ['text/html', pdf],
    '/claims-nothing': ['application/octet-stream', page],
  };
  server.routes.set('/', (_, response) => {
    response.writeHead(200, { 'content-type': 'text/html' }).end(pageOf(Object.keys(answers)));
  });
  for (const [path, [claim, content]] of Object.entries(answers)) {
    server.routes.set(path, (_, response) => {
      response.writeHead(200, { 'content-type': claim }).end(content);
    });
  }
  const { space, sync } = await actors.connectTo(server);
  expect(await sync()).toMatchObject({ status: 'completed', skipped: 0, failed: 0, added: 4 });
  const { rows } = await actors.world.admin.query<{ filename: string; media_type: string }>(
    'select filename, media_type from documents where tenant_id = $1',
    [space.fixture.tenantId],
  );
  const readAs = Object.fromEntries(rows.map(({ filename, media_type: type }) => [filename, type]));
  expect(readAs).toEqual({
    'index.html': 'text/html',
    'claims-pdf.pdf': 'text/html',
    'claims-nothing': 'text/html',
    'claims-html.html': 'application/pdf',
  });
  expect(await space.contents()).toMatchObject({
    'claims-pdf.pdf': 'The albatross was ringed in May.',
    'claims-nothing': 'The albatross was ringed in May.',
    'claims-html.html': expect.stringContaining('Hello World') as string,
  });
});
