import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Identity } from '#domain/foundation/access/caller.ts';
import { Pace } from '#domain/foundation/kernel/pace.ts';
import { contentBodyLimit } from '../body-limits.ts';
import { addressKey } from '../limits/address-key.ts';
import { isFile } from './arrival.ts';

/**
 * Bytes of refused bodies that are read for a tenant. Node reads them into new buffers, and some fifty megabytes a second
 * of those have the whole heap collected once a second, which every other request waits for.
 */
const share = { burst: 2 * 1024 * 1024, perSecond: 2 * 1024 * 1024 };

/** Max delay of a body, and of the next request on its connection. Less than the time that a body has to arrive. */
const maxWaitMs = 5_000;

/** A shorter body costs less than its delay. */
const smallBody = 64 * 1024;

/**
 * A request that was answered before its body was read leaves the body on the connection, where the next request comes
 * behind it. Such bodies are read and discarded at a pace of the tenant: the client has its answer at once, and is held
 * back by the connection.
 */
export function discardRefusedBodies(app: FastifyInstance): void {
  const pace = new Pace(share);
  app.addHook('onSend', async (request) => {
    const { raw } = request;
    const bytes = remainingBytes(request);
    if (raw.complete || raw.readableFlowing !== null || bytes <= smallBody || isFile(request)) {
      return;
    }
    // Marks the body as consumed: Node otherwise reads the rest at once when the answer is finished.
    raw.read();
    const waitMs = pace.takeWithin(maxWaitMs, keyOf(request), bytes);
    const timer = setTimeout(() => raw.resume(), waitMs).unref();
    raw.once('close', () => clearTimeout(timer));
  });
}

/** Of a body without a length, the longest that any operation takes. */
function remainingBytes({ headers }: FastifyRequest): number {
  const unknown = headers['transfer-encoding'] === undefined ? 0 : contentBodyLimit;
  return Number(headers['content-length'] ?? unknown);
}

/** The tenant, or the address of a caller who is not authenticated. */
function keyOf(request: FastifyRequest): string {
  return (request.identity as Identity | undefined)?.tenantId ?? addressKey(request.ip);
}
