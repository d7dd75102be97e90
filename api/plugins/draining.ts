import type { FastifyInstance } from 'fastify';
import { DomainError } from '#domain/foundation/kernel/errors.ts';
import type { GatewayDependencies } from '../compose.ts';

const probes = new Set(['/healthz', '/readyz', '/metrics']);

/**
 * Refuses new requests on open connections, so that clients switch to another gateway, and closes each connection with
 * its current answer. The listener itself is closed.
 */
export function rejectWhileDraining(app: FastifyInstance, { draining }: GatewayDependencies): void {
  app.addHook('onRequest', async (request) => {
    if (draining.value && !probes.has(request.url)) {
      throw new DomainError('draining', 'This process is stopping; try again.', { retryAfter: 1 });
    }
  });
  app.addHook('onSend', async (_request, reply) => {
    if (draining.value) {
      reply.header('Connection', 'close');
    }
  });
}
