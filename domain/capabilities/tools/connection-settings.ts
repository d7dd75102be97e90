import type { Context } from '#domain/foundation/access/context.ts';
import { invalid } from '#domain/foundation/kernel/errors.ts';
import { requireUsable } from '#domain/capabilities/credentials/usable-credential.ts';
import type { McpServer } from './mcp-server.entity.ts';
import type { ConnectionMode } from './server-status.ts';

/** How the calls of a server are authorized; omitted fields stay unchanged. */
export interface ConnectionSettings {
  connectionMode?: ConnectionMode | undefined;
  /** Resource indicator that is sent instead of the one in the server's metadata; null: that one. */
  connectionResource?: string | null | undefined;
  /** A credential with a client that is registered with the authorization server; null: the platform registers. */
  clientCredentialId?: string | null | undefined;
}

/**
 * Applies the settings. A server has a connection or a credential of its own, not both.
 * @returns the changed members
 * @throws `invalid_request`
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
  if (resource !== null && !isResource(resource)) {
    throw invalid(
      'connection_resource',
      'connection_resource must be an http(s) address without a fragment.',
    );
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

function isResource(text: string): boolean {
  const url = URL.parse(text);
  return url !== null && /^https?:$/.test(url.protocol) && url.hash === '' && !text.includes('#');
}
