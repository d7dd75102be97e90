import type { FastifyInstance } from 'fastify';

/** Where people begin who type an address, and what there is to see for them. */
const beginnings = new Map([
  ['/', '/api/docs/'],
  ['/api', '/api/docs/'],
  ['/api/', '/api/docs/'],
  ['/api-proxy', '/api-proxy/docs/'],
  ['/api-proxy/', '/api-proxy/docs/'],
]);

/** Redirects a browser to the API's page. Clients that do not accept HTML get 404, as before. */
export function redirectBrowsers(app: FastifyInstance): void {
  app.addHook('onRequest', async (request, reply) => {
    const page = beginnings.get(request.url.split('?', 1)[0] ?? '');
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
