import { Socket } from 'node:net';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { DomainError } from '#domain/foundation/kernel/errors.ts';
import { sendRefusalOn } from './client-errors.ts';

/** Max duration of any request's arrival; Node enforces it. A file of 100 MiB needs 60 kB a second. */
export const maxArrivalMs = 30 * 60_000;

/** Time in which a client that is refused while it sends may read the answer. */
const refusedMs = 5_000;

const lateness = () => new DomainError('request_timeout', 'The request took too long to arrive.');

/** Ends requests whose body arrives too slowly, or goes on arriving after the answer. */
export function limitArrival(app: FastifyInstance, { bodyMs = 30_000 } = {}): void {
  app.addHook('onRequest', async (request, reply) => {
    if (!isFile(request)) {
      endUnlessComplete(request, bodyMs, () => {
        const { socket } = request.raw;
        if (reply.raw.headersSent) {
          socket.destroy();
        } else {
          sendRefusalOn(socket, lateness());
        }
      });
    }
  });
  app.addHook('onResponse', async (request) => {
    if (!request.raw.complete && isFile(request)) {
      // Discarded: closing at once would reset the connection before the client has read the answer.
      request.raw.unpipe();
      request.raw.resume();
      endUnlessComplete(request, refusedMs, () => request.raw.socket.destroy());
    }
  });
}

/** Whether the body is read as a stream. */
export function isFile(request: FastifyRequest): boolean {
  const { takesFile } = request.routeOptions.config;
  const contentType = request.headers['content-type'] ?? '';
  return takesFile === 'stream' || (takesFile !== undefined && /^multipart\/form-data\b/i.test(contentType));
}

function endUnlessComplete({ raw }: FastifyRequest, afterMs: number, end: () => void): void {
  const { 'content-length': length = '0', 'transfer-encoding': encoding } = raw.headers;
  const isWhole = raw.complete || (length === '0' && encoding === undefined);
  if (isWhole || !(raw.socket instanceof Socket)) {
    return;
  }
  const timer = setTimeout(() => {
    if (!raw.complete && !raw.destroyed) {
      end();
    }
  }, afterMs).unref();
  const stop = () => clearTimeout(timer);
  raw.once('end', stop).once('close', stop);
}

/**
 * The same stream, which fails when nothing comes for a while. The time in which the consumer is busy does not count.
 * Breaking off leaves the stream open.
 * @throws `request_timeout`
 */
export async function* withIdleLimit<T>(source: AsyncIterator<T>, idleMs: number): AsyncGenerator<T> {
  for (;;) {
    const next = source.next();
    // It may fail after the limit has been reached.
    next.catch(() => {});
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_resolve, reject) => {
      timer = setTimeout(() => reject(lateness()), idleMs);
    });
    const { done, value } = await Promise.race([next, late]).finally(() => clearTimeout(timer));
    if (done === true) {
      return;
    }
    yield value;
  }
}
