import type { EntityManager } from '@mikro-orm/postgresql';
import { enqueueStart } from '#domain/durable/outbox.ts';
import type { Dispatch } from '#domain/kernel/dispatcher.ts';
import type { Response } from './response.entity.ts';

/** Owes the response's workflow to the engine, in the current transaction. */
export function oweGeneration(em: EntityManager, response: Response): Promise<Dispatch> {
  return enqueueStart(em, {
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
