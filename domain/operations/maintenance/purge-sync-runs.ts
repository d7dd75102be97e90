import { agedSweep } from '#domain/operations/sweep-kinds/aged-rows.ts';

/** The newest run of a connector is kept, however old: it says how the connector fares. */
const hasEnded = `r.completed_at is not null and exists (
  select from sync_runs later where later.tenant_id = r.tenant_id and later.connector_id = r.connector_id
    and (later.created_at, later.id) > (r.created_at, r.id))`;

/** Deletes old runs of connectors, of which each has up to 288 a day. */
export const purgeSyncRuns = agedSweep([
  { table: 'sync_runs', column: 'created_at', retention: '30 days', onlyIf: hasEnded },
]);
