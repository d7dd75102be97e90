import type { FastifyReply } from 'fastify';

/** 201 for what was made just now, 200 and a header for what an earlier request with the same key has made. */
export function markCreated(reply: FastifyReply, replayed: boolean): void {
  if (replayed) {
    reply.header('Idempotent-Replayed', 'true');
  }
  reply.status(replayed ? 200 : 201);
}
