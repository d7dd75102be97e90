import type { FastifyInstance } from 'fastify';
import { instanceHeaders } from '#domain/foundation/kernel/instance-header.ts';
import type { GatewayDependencies } from '../compose.ts';

const readyWithinMs = 500;
const cacheMs = 1_000;

/**
 * `/healthz` checks nothing; `/readyz` checks PostgreSQL; `/metrics` is for Prometheus. Temporal may be unavailable.
 */
export function serveHealth(app: FastifyInstance, deps: GatewayDependencies): void {
  let checked = { at: 0, ok: false };
  const databaseAnswers = async () => {
    if (Date.now() - checked.at > cacheMs) {
      checked = { at: Date.now(), ok: await answersInTime(deps) };
    }
    return checked.ok;
  };
  app.get('/healthz', { config: { public: 'liveness' } }, async (_request, reply) =>
    reply.type('text/plain').send('ok\n'),
  );
  app.get('/readyz', { config: { public: 'readiness' } }, async (_request, reply) => {
    reply.headers(instanceHeaders(deps.config.INSTANCE_ID));
    if (deps.draining.value) {
      return reply.status(503).type('text/plain').send('draining\n');
    }
    return (await databaseAnswers())
      ? reply.type('text/plain').send('ok\n')
      : reply.status(503).type('text/plain').send('database\n');
  });
  app.get('/metrics', { config: { public: 'metrics' } }, async (_request, reply) =>
    reply.type('text/plain; version=0.0.4').send(await deps.telemetry.scrape()),
  );
}

async function answersInTime({ database }: GatewayDependencies): Promise<boolean> {
  const { promise: late, resolve } = Promise.withResolvers<boolean>();
  const timer = setTimeout(() => resolve(false), readyWithinMs);
  const ok = await Promise.race([database.answers(), late]);
  clearTimeout(timer);
  return ok;
}
