import { start, type StartMessage } from '#domain/foundation/durable/messages.ts';
import type { Response } from '#domain/responses/record/response.entity.ts';

/** The start of the export of a response's trace. Null if its space is not traced. */
export function traceStart(response: Response): StartMessage | null {
  const { tenantId, spaceId, id: responseId } = response;
  return response.governance.traced === true
    ? start('traceResponse', { tenantId, spaceId, responseId })
    : null;
}
