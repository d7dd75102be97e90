import type { ServerResponse } from 'node:http';
import type { FastifyReply } from 'fastify';

/** Takes a reply over and sends the head of a stream of server-sent events, which no proxy may buffer or compress. */
export function beginStream(reply: FastifyReply, headers: Record<string, string> = {}): ServerResponse {
  reply.hijack();
  reply.raw.writeHead(200, {
    ...reply.getHeaders(),
    'Content-Type': 'text/event-stream',
    'Cache-Control': 'no-cache, no-transform',
    'X-Accel-Buffering': 'no',
    ...headers,
  } as Record<string, string>);
  return reply.raw;
}
