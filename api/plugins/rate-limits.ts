import type { FastifyInstance, FastifyRequest } from 'fastify';
import { DomainError } from '#domain/kernel/errors.ts';
import type { RequestLimits } from '../limits/request-limits.ts';

/** Counts every request of a known caller and refuses those beyond its limits, before anything is read of them. */
export function limitRequests(
  app: FastifyInstance,
  limits: RequestLimits,
  costOf: (request: FastifyRequest) => number = () => 1,
): void {
  app.addHook('onRequest', async (request, reply) => {
    if ('public' in request.routeOptions.config) {
      return;
    }
    const { policy, limit, retryAfter } = await limits.admit(request.identity, costOf(request));
    reply.header('RateLimit-Policy', policy).header('RateLimit', limit);
    if (retryAfter !== null) {
      throw new DomainError('rate_limited', 'Too many requests.', { retryAfter });
    }
  });
}
