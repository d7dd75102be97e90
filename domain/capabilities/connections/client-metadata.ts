import type { ClientMetadata } from './authorization-servers.ts';
import { callbackUri, clientDocumentUrl, type ConnectionSettings } from './connection-parts.ts';

const clientName = 'Platform';

/** How the platform describes itself where it registers. */
export function clientMetadata(settings: ConnectionSettings, scope: string | null): ClientMetadata {
  return {
    clientName,
    clientUri: new URL(settings.apiUrl).origin,
    redirectUris: [callbackUri(settings)],
    scope,
  };
}

/** The document whose address is the platform's client id where the server accepts such ids. */
export function clientDocument(settings: ConnectionSettings) {
  return {
    client_id: clientDocumentUrl(settings),
    client_name: clientName,
    client_uri: new URL(settings.apiUrl).origin,
    application_type: 'web' as const,
    redirect_uris: [callbackUri(settings)],
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    token_endpoint_auth_method: 'none' as const,
  };
}

/** An authorization server fetches the document, so that it must be able to reach and to trust its address. */
export function hasPublicDocument(settings: ConnectionSettings): boolean {
  const { protocol, hostname } = new URL(clientDocumentUrl(settings));
  return protocol === 'https:' || hostname === '127.0.0.1' || hostname === 'localhost';
}
