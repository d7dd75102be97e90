import helmet from '@fastify/helmet';
import type { FastifyInstance } from 'fastify';

/** Helmet's headers on every answer. The page of the API, the only one with scripts, brings a policy of its own. */
export async function sendSecureHeaders(app: FastifyInstance): Promise<void> {
  await app.register(helmet, { contentSecurityPolicy: false, hsts: { maxAge: 31_536_000 } });
}

/** Answers are for their caller alone, and some hold a key that is shown once: no cache keeps them. */
export function forbidStoring(app: FastifyInstance): void {
  app.addHook('onRequest', (_request, reply, done) => {
    reply.header('Cache-Control', 'no-store');
    done();
  });
}
