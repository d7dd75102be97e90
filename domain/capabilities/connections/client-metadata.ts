import { isLoopback } from '#domain/foundation/kernel/is-loopback.ts';
import type { AuthorizationTarget, ClientMetadata } from './authorization-servers.ts';
import { callbackAt, callbackUri, clientDocumentUrl, type ConnectionSettings } from './connection-parts.ts';

const clientName = 'Platform';

/** How the platform describes itself where it registers. */
export function clientMetadata(
  settings: ConnectionSettings,
  { issuer, scope }: Pick<AuthorizationTarget, 'issuer' | 'scope'>,
): ClientMetadata {
  return {
    clientName,
    clientUri: new URL(settings.apiUrl).origin,
    redirectUris: [callbackUri(settings, issuer)],
    scope,
  };
}

/**
 * The document whose address is the platform's client id where the server accepts such ids.
 * @param key of `issuerKey`; null: the document of connections from before each issuer had its own
 */
export function clientDocument(settings: ConnectionSettings, key: string | null) {
  return {
    client_id: clientDocumentUrl(settings, key),
    client_name: clientName,
    client_uri: new URL(settings.apiUrl).origin,
    application_type: 'web' as const,
    redirect_uris: [callbackAt(settings, key)],
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    token_endpoint_auth_method: 'none' as const,
  };
}

/** An authorization server fetches the document, so that it must be able to reach and to trust its address. */
export function hasPublicDocument(settings: ConnectionSettings): boolean {
  const { protocol, hostname } = new URL(clientDocumentUrl(settings, null));
  return protocol === 'https:' || isLoopback(hostname);
}
