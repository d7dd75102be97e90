import type { DurableStart } from '#domain/foundation/durable/outbox.ts';
import type { Response } from '#domain/responses/record/response.entity.ts';

/**
 * The export of a response's trace, for the change that ends the response. Null: its space wants none. The relays send it:
 * nobody who waits for the response waits for this.
 */
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
