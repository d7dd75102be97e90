import type { FastifyReply } from 'fastify';

/** 201 for a new resource; 200 and a header for the resource of an earlier request with the same key. */
export function markCreated(reply: FastifyReply, replayed: boolean): void {
  if (replayed) {
    reply.header('Idempotent-Replayed', 'true');
  }
  reply.status(replayed ? 200 : 201);
}
