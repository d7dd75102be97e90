import { revokeWithdrawn } from '#domain/capabilities/connections/revoke-withdrawn.ts';
import { nilUuid } from '#domain/foundation/kernel/ids.ts';
import { listedSweep } from './listed-sweep.ts';

/** Revokes the tokens of connections that have ended, or whose server, mode or person is gone. */
export const revokeConnections = listedSweep<{ tenant_id: string; connection_id: string }>({
  listFunction: 'list_ended_connections',
  start: [nilUuid, nilUuid],
  placeOf: (row) => [row.tenant_id, row.connection_id],
  processRow: (deps, { tenant_id: tenantId, connection_id: id }) => revokeWithdrawn(deps, tenantId, id),
});
