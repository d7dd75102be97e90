import { Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';

/**
 * Drops whoever takes nothing of an answer for so long: until the last byte has left, this process keeps all of it. A
 * reader who takes some of it, however little, may go on. Streams of events see to their readers themselves.
 */
export function dropStalledReaders(app: FastifyInstance, { afterMs = 30_000 } = {}): void {
  app.addHook('onSend', async (_request, { raw }) => {
    // Node's server ends the time with the answer, and destroys the socket that it is over for.
    if (raw.socket instanceof Socket) {
      raw.socket.setTimeout(afterMs);
    }
  });
}
