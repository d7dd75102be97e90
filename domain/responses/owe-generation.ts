import type { EntityManager } from '@mikro-orm/postgresql';
import { enqueueStart } from '#domain/durable/outbox.ts';
import type { Dispatch } from '#domain/kernel/dispatcher.ts';
import type { Response } from './response.entity.ts';

/** Owes the response's workflow to the engine, in the current transaction. `dueNow` leaves it to the relays. */
export function oweGeneration(
  em: EntityManager,
  response: Response,
  options: { dueNow: boolean } = { dueNow: false },
): Promise<Dispatch> {
  return enqueueStart(em, {
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
  });
}
