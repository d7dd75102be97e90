import { agedSweep } from './aged-rows.ts';

/** How long an id that is gone can still be told from one that never was, and a repeated act from a new one. */
const memory = '7 days';

/** Removes rows that only retention still holds: what tells an expired id from an unknown one, and what was done once. */
export const purgeStaleRows = agedSweep([
  { table: 'response_ids', column: 'expires_at', retention: memory },
  { table: 'idempotency_keys', column: 'expires_at', retention: '0' },
  { table: 'event_dedupe', column: 'created_at', retention: memory },
]);
