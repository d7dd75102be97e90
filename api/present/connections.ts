import type { ConnectedRecord, ConnectionRecord } from '#api/contract/connections.ts';
import type { ListedConnection, ShownConnection } from '#domain/capabilities/connections/read-connection.ts';

export function presentConnection(shown: ShownConnection): ConnectionRecord {
  return {
    server_id: shown.serverId,
    connector_id: shown.connectorId,
    owner: shown.owner,
    status: shown.status,
    issuer: shown.issuer,
    granted_scopes: shown.grantedScopes,
    required_scopes: shown.requiredScopes,
    expires_at: shown.expiresAt?.toISOString() ?? null,
    connected_at: shown.connectedAt?.toISOString() ?? null,
  };
}

export function presentInitiated({ popupUrl, expiresAt }: { popupUrl: string; expiresAt: Date }) {
  return { data: { popup_url: popupUrl, expires_at: expiresAt.toISOString() } };
}

export function presentConnected({ connection, isByMember }: ListedConnection): ConnectedRecord {
  return {
    principal_id: connection.ownerId ?? null,
    connected_by: connection.connectedBy,
    connected_by_is_member: isByMember,
    status: connection.status,
    connected_at: connection.connectedAt.toISOString(),
  };
}
