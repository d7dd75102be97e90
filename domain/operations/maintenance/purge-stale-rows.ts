import { agedSweep } from './aged-rows.ts';

/** Removes rows that only retention still holds: what tells an expired id from an unknown one, and what was done once. */
export const purgeStaleRows = agedSweep([
  { table: 'response_ids', column: 'expires_at', keptFor: '7 days' },
  { table: 'idempotency_keys', column: 'expires_at', keptFor: '0' },
  { table: 'event_dedupe', column: 'created_at', keptFor: '7 days' },
]);
