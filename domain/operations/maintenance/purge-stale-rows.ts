import { agedSweep } from '#domain/operations/sweep-kinds/aged-rows.ts';

/** How long an expired id is distinguished from an unknown one, and a repeated request from a new one. */
const idRetention = '7 days';

/** How long an ended invite is listed after its validity; then the address of a person who may never have joined goes. */
const inviteRetention = '90 days';

/**
 * Deletes rows kept for retention only: those that distinguish an expired id from an unknown one, and those that
 * detect repeats, and ended invites.
 */
export const purgeStaleRows = agedSweep([
  { table: 'response_ids', column: 'expires_at', retention: idRetention },
  { table: 'idempotency_keys', column: 'expires_at', retention: '0' },
  { table: 'invites', column: 'expires_at', retention: inviteRetention, onlyIf: "r.status <> 'pending'" },
  { table: 'event_dedupe', column: 'created_at', retention: idRetention },
]);
