import type { FastifyRequest } from 'fastify';
import { DomainError } from '#domain/foundation/kernel/errors.ts';

/** Runs work that ends when the client disconnects. @throws `request_timeout` then, where the work obeys its signal */
export async function whileConnected<T>(
  request: Pick<FastifyRequest, 'raw'>,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const { socket } = request.raw;
  const stop = new AbortController();
  const leave = () => stop.abort(new DomainError('request_timeout', 'The client has disconnected.'));
  socket.once('close', leave);
  try {
    return await work(stop.signal);
  } finally {
    socket.off('close', leave);
  }
}
