import { expireAttempt } from '#domain/capabilities/connections/end-attempt.ts';
import { nilUuid } from '#domain/foundation/kernel/ids.ts';
import type { UnitOfWork } from '#domain/foundation/persistence/unit-of-work.ts';

interface Row {
  tenant_id: string;
  attempt_id: string;
}

/** Attempts to connect an account whose time is over: each ends in its own transaction with its event. */
export const dueAttempts = {
  listFunction: 'list_due_attempts',
  start: [nilUuid, nilUuid] as const,
  placeOf: (row: Row) => [row.tenant_id, row.attempt_id] as const,
  processRow: ({ unitOfWork }: { unitOfWork: UnitOfWork }, { tenant_id: tenantId, attempt_id: id }: Row) =>
    unitOfWork.inTenant(tenantId, (em) => expireAttempt(em, id)),
};
