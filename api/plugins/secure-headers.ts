import helmet from '@fastify/helmet';
import type { FastifyInstance } from 'fastify';

/** Helmet's headers on every answer. The API's page, the only one with scripts, sets its own policy. */
export async function sendSecureHeaders(app: FastifyInstance): Promise<void> {
  await app.register(helmet, { contentSecurityPolicy: false, hsts: { maxAge: 31_536_000 } });
}

/** Answers belong to their caller, and some contain a key that is shown once: caches must not store them. */
export function forbidStoring(app: FastifyInstance): void {
  app.addHook('onRequest', (_request, reply, done) => {
    reply.header('Cache-Control', 'no-store');
    done();
  });
}
