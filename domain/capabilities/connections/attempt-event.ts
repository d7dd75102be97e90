import type { AuthorizationTarget } from './authorization-servers.ts';
import type { AuditEvent } from '#domain/foundation/events/record-event.ts';

type AttemptEvent =
  | 'security.mcp_auth_started'
  | 'security.mcp_auth_granted'
  | 'security.mcp_auth_failed'
  | 'security.mcp_auth_revoked';

/** An attempt or a connection. */
interface EventSource {
  id: string;
  serverId?: string | null | undefined;
  connectorId?: string | null | undefined;
  spaceId: string;
  ownerId?: string | null | undefined;
  issuer: string;
  target: Pick<AuthorizationTarget, 'source'>;
}

/** What events of a connection say: server or connector, owner and issuer, nothing of the tokens. */
export function connectionEvent(type: AttemptEvent, of: EventSource, reason?: string): AuditEvent {
  return {
    type,
    resource: resourceOf(of),
    ...(type === 'security.mcp_auth_failed' ? { outcome: 'failure' as const } : {}),
    ...(reason === undefined ? {} : { reason }),
    metadata: {
      space_id: of.spaceId,
      owner: of.ownerId == null ? 'shared' : 'personal',
      ...(of.ownerId == null ? {} : { principal_id: of.ownerId }),
      issuer: of.issuer,
    },
  };
}

/** The id of a removed server or connector is not known any more: the event names the connection in its place. */
function resourceOf({ id, serverId, connectorId, target }: EventSource): AuditEvent['resource'] {
  return target.source === undefined
    ? { type: 'mcp_server', id: serverId ?? id }
    : { type: 'connector', id: connectorId ?? id };
}
