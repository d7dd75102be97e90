import type { EntityManager } from '@mikro-orm/postgresql';
import { enqueueStart } from '#domain/durable/outbox.ts';
import type { Response } from '#domain/responses/response.entity.ts';

/**
 * Owes the export of a response's trace, where its space wants one, in the transaction that ends the response. The
 * relays send it: nobody who waits for the response waits for this.
 */
export async function oweTrace(em: EntityManager, response: Response): Promise<void> {
  if (response.governance.traced !== true) {
    return;
  }
  const { tenantId, spaceId, id: responseId } = response;
  await enqueueStart(em, {
    dueNow: true,
    tenantId,
    workflowType: 'traceResponse',
    workflowId: `trace/${tenantId}/${responseId}`,
    payload: { tenantId, spaceId, responseId },
  });
}
