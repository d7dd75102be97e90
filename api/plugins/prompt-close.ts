import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';

/** Time for a request that is under way to an idle connection. */
const graceMs = 100;

/**
 * Closes each connection once nothing is asked on it any more, and not before all of its last answer is sent.
 * Node's own way does neither: it looks once, when closing begins, takes an answer for done whose bytes still wait
 * for a slow reader, and leaves a connection alone that a client opened in advance and has not used.
 */
export function closePromptly(app: FastifyInstance): void {
  /** What had been read of each when it fell idle: more means that a request is arriving. */
  const idle = new Map<Socket, number>();
  let closing = false;
  app.server.on('connection', (socket: Socket) => {
    idle.set(socket, 0);
    socket.once('close', () => idle.delete(socket));
  });
  app.server.on('request', ({ socket }: IncomingMessage, response: ServerResponse) => {
    idle.delete(socket);
    response.once('close', () => {
      if (closing) socket.destroySoon();
      else if (!socket.destroyed) idle.set(socket, socket.bytesRead);
    });
  });
  app.server.closeIdleConnections = () => undefined;
  app.addHook('preClose', (done) => {
    closing = true;
    const leave = () => idle.forEach((read, socket) => socket.bytesRead === read && socket.destroySoon());
    setTimeout(leave, graceMs).unref();
    done();
  });
}
