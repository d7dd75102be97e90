import { agedSweep } from '#domain/operations/sweep-kinds/aged-rows.ts';

/** How long an expired id is distinguished from an unknown one, and a repeated request from a new one. */
const idRetention = '7 days';

/**
 * Deletes rows kept for retention only: those that distinguish an expired id from an unknown one, and those that
 * detect repeats.
 */
export const purgeStaleRows = agedSweep([
  { table: 'response_ids', column: 'expires_at', retention: idRetention },
  { table: 'idempotency_keys', column: 'expires_at', retention: '0' },
  { table: 'event_dedupe', column: 'created_at', retention: idRetention },
]);
