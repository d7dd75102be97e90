import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';

const everyMs = 50;

/**
 * Closes each connection once nothing is asked on it any more. Node closes idle ones only when closing begins: one
 * whose answer ends later, or that a client opened in advance and has not used, would keep the process for as long
 * as clients keep theirs.
 */
export function closePromptly(app: FastifyInstance): void {
  const unused = new Set<Socket>();
  app.server.on('connection', (socket: Socket) => {
    unused.add(socket);
    socket.once('close', () => unused.delete(socket));
  });
  app.server.on('request', ({ socket }: IncomingMessage) => unused.delete(socket));
  app.addHook('preClose', (done) => {
    if (app.server.listening) {
      const closeIdle = () => {
        app.server.closeIdleConnections();
        // Where a request has begun to arrive, it is waited for.
        for (const socket of unused) if (socket.bytesRead === 0) socket.destroy();
      };
      const timer = setInterval(closeIdle, everyMs);
      app.server.once('close', () => clearInterval(timer));
    }
    done();
  });
}
