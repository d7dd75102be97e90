import type { Context } from '#domain/foundation/access/context.ts';
import { authorize } from '#domain/foundation/access/policy.ts';
import { invalid } from '#domain/foundation/kernel/errors.ts';
import { requireUsable } from '#domain/capabilities/credentials/usable-credential.ts';
import type { McpServer } from './mcp-server.entity.ts';
import type { ConnectionMode } from './server-status.ts';

/** How the calls of a server are authorized; omitted fields stay unchanged. */
export interface ConnectionSettings {
  connectionMode?: ConnectionMode | undefined;
  /**
   * Resource indicator that is sent instead of the one in the server's metadata: another spelling of its address, or an
   * application id; null: that one.
   */
  connectionResource?: string | null | undefined;
  /** A credential with a client that is registered with the authorization server; null: the platform registers. */
  clientCredentialId?: string | null | undefined;
}

/**
 * Applies the settings. A server has a connection or a credential of its own, not both.
 * @returns the changed members
 * @throws `invalid_request`, `missing_permission` for an application id
 */
export async function applyConnectionSettings(
  ctx: Context,
  server: McpServer,
  settings: ConnectionSettings,
): Promise<string[]> {
  const mode = settings.connectionMode ?? server.connectionMode;
  const resource =
    settings.connectionResource === undefined
      ? (server.connectionResource ?? null)
      : settings.connectionResource;
  const clientId =
    settings.clientCredentialId === undefined
      ? (server.clientCredentialId ?? null)
      : settings.clientCredentialId;
  if (mode !== 'none' && (server.credentialRef != null || server.credentialId != null)) {
    throw invalid('connection_mode', 'A server has either a connection or a credential.');
  }
  if (mode === 'none' && clientId !== null) {
    throw invalid('client_credential_id', 'client_credential_id belongs to a server with a connection.');
  }
  if (resource !== null && resource !== (server.connectionResource ?? null)) {
    requireResource(ctx, server, resource);
  }
  if (clientId !== null && clientId !== (server.clientCredentialId ?? null)) {
    const { spaceId, url } = server;
    await requireUsable(ctx, { credentialId: clientId, spaceId, url, kinds: ['oauth2_client'] }).catch(
      renamed,
    );
  }
  const changed = [
    ...(mode === server.connectionMode ? [] : ['connection_mode']),
    ...(resource === (server.connectionResource ?? null) ? [] : ['connection_resource']),
    ...(clientId === (server.clientCredentialId ?? null) ? [] : ['client_credential_id']),
  ];
  server.connectionMode = mode;
  server.connectionResource = resource;
  server.clientCredentialId = clientId;
  return changed;
}

function renamed(): never {
  throw invalid(
    'client_credential_id',
    'client_credential_id names no credential of kind oauth2_client for the origin of this server.',
  );
}

/**
 * Tokens for another server's resource would be sent to this one. So an address is of this server's origin; the id of an
 * application, such as Entra's `api://…`, says nothing of a place and is set only by callers who manage credentials.
 */
function requireResource(ctx: Context, server: McpServer, text: string): void {
  const url = URL.parse(text);
  const isPlain = url !== null && !text.includes('#') && url.username === '' && url.password === '';
  if (!isPlain || !/^[\x21-\x7e]+$/.test(text) || !/^[a-z][a-z0-9+.-]*:/.test(text)) {
    throw invalid(
      'connection_resource',
      'connection_resource must be an absolute address without a fragment.',
    );
  }
  if (!/^https?:$/.test(url.protocol)) {
    authorize(ctx.caller, 'credentials.manage');
  } else if (url.origin !== new URL(server.url).origin) {
    throw invalid('connection_resource', 'connection_resource must be of the origin of this tool server.');
  }
}
