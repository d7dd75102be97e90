import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { DomainError } from '#domain/foundation/kernel/errors.ts';
import { RejectionCache } from '../limits/rejection-cache.ts';
import { isFile } from './arrival.ts';
import type { RequestLimits, RequestVerdict } from '../limits/request-limits.ts';

/** Rate-limit state of a process; one instance for all surfaces. */
export interface RateLimiter {
  limits: RequestLimits;
  refused: RejectionCache;
}

export const rateLimiter = (limits: RequestLimits): RateLimiter => ({
  limits,
  refused: new RejectionCache(),
});

/** Bytes of a body per token: the cost of reading, screening and storing grows with its length. */
const bytesOfOne = 32 * 1_024;

/** A file is stored as it is, and its tenant sends few at a time. */
const bytesOfOneInFile = 1_024 * 1_024;

const costOfBody = (bytes: number, each = bytesOfOne): number => Math.floor(bytes / each);

/**
 * Counts every authenticated request, a large one as several, and refuses requests above the limits before their body
 * is read. `authenticate` runs in between: a caller refused a moment ago is refused without another look-up.
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
    const ofBody = costOfBody(
      Number(request.headers['content-length'] ?? 0),
      isFile(request) ? bytesOfOneInFile : bytesOfOne,
    );
    const verdict = await limits.admit(request.identity, costOf(request) + ofBody);
    // A request refused for its length does not predict a refusal of a short one.
    if (verdict.retryAfter !== null && ofBody === 0) {
      refused.remember(request.headers, verdict);
    }
    answer(reply, verdict);
  });
  // The length of a chunked body is known once it has been read.
  app.addHook('preValidation', async (request, reply) => {
    const cost = request.headers['content-length'] === undefined ? costOfBody(request.bodyBytes) : 0;
    if (cost > 0 && !('public' in request.routeOptions.config)) {
      answer(reply, await limits.admit(request.identity, cost));
    }
  });
}

/** @throws `rate_limited` unless the request may pass */
function answer(reply: FastifyReply, { policy, limit, retryAfter }: RequestVerdict): void {
  reply.header('RateLimit-Policy', policy).header('RateLimit', limit);
  if (retryAfter !== null) {
    throw new DomainError('rate_limited', 'Too many requests.', { retryAfter });
  }
}
