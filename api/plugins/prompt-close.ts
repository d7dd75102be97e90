import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';

/** Time for a request that is arriving on an idle connection. */
const graceMs = 100;

/**
 * Closes each connection once it is idle and its last answer is fully sent. Node's own method does neither: it checks
 * once, when closing begins, treats an answer as finished while bytes wait for a slow reader, and ignores a connection
 * that a client opened in advance and has not used.
 */
export function closePromptly(app: FastifyInstance): void {
  /** Bytes read from each connection when it became idle: more bytes mean that a request is arriving. */
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
