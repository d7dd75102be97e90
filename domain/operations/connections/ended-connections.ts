import type { SourceParts } from '#domain/capabilities/connections/connection-parts.ts';
import { revokeWithdrawn } from '#domain/capabilities/connections/revoke-withdrawn.ts';
import { nilUuid } from '#domain/foundation/kernel/ids.ts';

interface Row {
  tenant_id: string;
  connection_id: string;
}

/** Connections that have ended, or whose server, mode or person is gone: their tokens are revoked and erased. */
export const endedConnections = {
  listFunction: 'list_ended_connections',
  start: [nilUuid, nilUuid] as const,
  placeOf: (row: Row) => [row.tenant_id, row.connection_id] as const,
  processRow: (deps: SourceParts, { tenant_id: tenantId, connection_id: id }: Row) =>
    revokeWithdrawn(deps, tenantId, id),
};
