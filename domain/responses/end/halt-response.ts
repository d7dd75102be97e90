import type { EntityManager } from '@mikro-orm/postgresql';
import { cancel } from '#domain/foundation/durable/messages.ts';
import { enqueue } from '#domain/foundation/durable/outbox.ts';
import { lockHead } from '#domain/responses/store/head.ts';
import { finishResponse } from './finish-response.ts';

/**
 * Cancels a response of what is being deleted, and its workflow, which a blocked response does not have yet.
 * @returns false if it has ended or is gone
 */
export async function haltResponse(
  em: EntityManager,
  { tenantId, responseId }: { tenantId: string; responseId: string },
): Promise<boolean> {
  const head = await lockHead(em, responseId);
  if (
    head === null ||
    !(await finishResponse(em, head.response, head.now, { status: 'cancelled', by: null }))
  ) {
    return false;
  }
  if (head.response.blockedBy == null) {
    await enqueue(em, cancel('generateResponse', { tenantId, responseId }));
  }
  return true;
}
