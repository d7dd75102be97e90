import type { EntityManager } from '@mikro-orm/postgresql';
import { enqueueStart, type DurableStart } from '#domain/foundation/durable/outbox.ts';
import type { Dispatch } from '#domain/foundation/durable/dispatcher.ts';
import type { Response } from '#domain/responses/record/response.entity.ts';

/** The response's workflow as it is owed to the engine. `dueNow` leaves it to the relays. */
export function generationOf(
  response: Response,
  options: { dueNow: boolean } = { dueNow: false },
): DurableStart {
  return {
    dueNow: options.dueNow,
    tenantId: response.tenantId,
    workflowType: 'generateResponse',
    workflowId: response.workflowId,
    payload: {
      tenantId: response.tenantId,
      spaceId: response.spaceId,
      responseId: response.id,
      model: response.modelAlias,
      timeoutSeconds: response.governance.limits.timeout_seconds,
    },
  };
}

/** Owes it in the current transaction. */
export function oweGeneration(
  em: EntityManager,
  response: Response,
  options: { dueNow: boolean } = { dueNow: false },
): Promise<Dispatch> {
  return enqueueStart(em, generationOf(response, options));
}
