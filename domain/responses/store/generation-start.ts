import { start, type StartMessage } from '#domain/foundation/durable/messages.ts';
import type { Response } from '#domain/responses/record/response.entity.ts';

/** The start of a response's workflow. */
export function generationStart(response: Response): StartMessage {
  return start('generateResponse', {
    tenantId: response.tenantId,
    spaceId: response.spaceId,
    responseId: response.id,
    model: response.modelAlias,
    timeoutSeconds: response.governance.limits.timeout_seconds,
  });
}
