import { Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';

/**
 * Closes the connection of a reader that accepts no byte of an answer for this time, since this process buffers the
 * rest of the answer. A slow reader may continue. Event streams have their own limit.
 */
export function dropStalledReaders(app: FastifyInstance, { afterMs = 30_000 } = {}): void {
  app.addHook('onSend', async (_request, { raw }) => {
    // Node resets the timeout at the end of the answer, and destroys the socket when it expires.
    if (raw.socket instanceof Socket) {
      raw.socket.setTimeout(afterMs);
    }
  });
}
