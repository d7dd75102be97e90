import { expireAttempt } from '#domain/capabilities/connections/end-attempt.ts';
import { nilUuid } from '#domain/foundation/kernel/ids.ts';
import { listedSweep } from './listed-sweep.ts';

/** Ends attempts to connect an account whose time is over, each in its own transaction with its event. */
export const endAttempts = listedSweep<{ tenant_id: string; attempt_id: string }>({
  listFunction: 'list_due_attempts',
  start: [nilUuid, nilUuid],
  placeOf: (row) => [row.tenant_id, row.attempt_id],
  processRow: ({ unitOfWork }, { tenant_id: tenantId, attempt_id: attemptId }) =>
    unitOfWork.inTenant(tenantId, (em) => expireAttempt(em, attemptId)),
});
