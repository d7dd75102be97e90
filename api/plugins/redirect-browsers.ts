import type { FastifyInstance } from 'fastify';

/** Start paths that people type, and the pages that they redirect to. */
const startPages = new Map([
  ['/', '/api/docs/'],
  ['/api', '/api/docs/'],
  ['/api/', '/api/docs/'],
  ['/api-proxy', '/api-proxy/docs/'],
  ['/api-proxy/', '/api-proxy/docs/'],
]);

/** Redirects a browser to the API's page. Clients that do not accept HTML still get 404. */
export function redirectBrowsers(app: FastifyInstance): void {
  app.addHook('onRequest', async (request, reply) => {
    const page = startPages.get(request.url.split('?', 1)[0] ?? '');
    const reads = request.method === 'GET' || request.method === 'HEAD';
    if (page === undefined || !reads) {
      return;
    }
    reply.header('Vary', 'Accept');
    if (request.headers.accept?.includes('text/html') === true) {
      return reply.redirect(page);
    }
  });
}
