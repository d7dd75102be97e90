import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { DomainError } from '#domain/kernel/errors.ts';
import { RefusedLately } from '../limits/refused-lately.ts';
import type { RequestLimits, RequestVerdict } from '../limits/request-limits.ts';

/** What the process remembers of its callers' requests; one for all surfaces. */
export interface RateLimiter {
  limits: RequestLimits;
  refused: RefusedLately;
}

export const rateLimiter = (limits: RequestLimits): RateLimiter => ({ limits, refused: new RefusedLately() });

/**
 * Counts every request of a known caller and refuses those beyond its limits, before anything is read of them.
 * `authenticate` is asked in between: who was refused a moment ago is refused without being looked up again.
 */
export function limitRequests(
  app: FastifyInstance,
  { limits, refused }: RateLimiter,
  options: { authenticate: () => void; costOf?: (request: FastifyRequest) => number },
): void {
  const { authenticate, costOf = () => 1 } = options;
  app.addHook('onRequest', async (request, reply) => {
    const verdict = refused.find(request.headers);
    if (verdict !== undefined) {
      answer(reply, verdict);
    }
  });
  authenticate();
  app.addHook('onRequest', async (request, reply) => {
    if ('public' in request.routeOptions.config) {
      return;
    }
    const verdict = await limits.admit(request.identity, costOf(request));
    if (verdict.retryAfter !== null) {
      refused.remember(request.headers, verdict);
    }
    answer(reply, verdict);
  });
}

/** @throws `rate_limited` unless the request may pass */
function answer(reply: FastifyReply, { policy, limit, retryAfter }: RequestVerdict): void {
  reply.header('RateLimit-Policy', policy).header('RateLimit', limit);
  if (retryAfter !== null) {
    throw new DomainError('rate_limited', 'Too many requests.', { retryAfter });
  }
}
