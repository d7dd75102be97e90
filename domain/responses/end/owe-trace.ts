import type { EntityManager } from '@mikro-orm/postgresql';
import { enqueueStart, type DurableStart } from '#domain/foundation/durable/outbox.ts';
import type { Response } from '#domain/responses/record/response.entity.ts';

/** The export of a response's trace as the engine starts it. Null: its space wants none. */
export function traceStart(response: Response): DurableStart | null {
  if (response.governance.traced !== true) {
    return null;
  }
  const { tenantId, spaceId, id: responseId } = response;
  return {
    dueNow: true,
    tenantId,
    workflowType: 'traceResponse',
    workflowId: `trace/${tenantId}/${responseId}`,
    payload: { tenantId, spaceId, responseId },
  };
}

/**
 * Owes the export in the transaction that ends the response. The relays send it: nobody who waits for the response
 * waits for this.
 */
export async function oweTrace(em: EntityManager, response: Response): Promise<void> {
  const start = traceStart(response);
  if (start !== null) {
    await enqueueStart(em, start);
  }
}
