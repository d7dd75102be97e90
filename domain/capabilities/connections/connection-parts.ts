import { createHash } from 'node:crypto';
import { DomainError } from '#domain/foundation/kernel/errors.ts';
import type { Secrets } from '#domain/foundation/kernel/secrets.ts';
import type { Database } from '#domain/foundation/persistence/database.ts';
import type { UnitOfWork } from '#domain/foundation/persistence/unit-of-work.ts';
import type { AuthorizationServers } from './authorization-servers.ts';

/** Dependencies of the use cases that ask an authorization server: they span several transactions. */
export interface ConnectionParts {
  database: Database;
  unitOfWork: UnitOfWork;
  secrets: Secrets;
  authorizationServers: AuthorizationServers;
}

/** What the tokens of connections are read and refreshed with. */
export type SourceParts = Pick<ConnectionParts, 'unitOfWork' | 'secrets' | 'authorizationServers'>;

/** The platform's own addresses as browsers and authorization servers see them. */
export interface ConnectionSettings {
  /** The public address of the API, with its prefix: `https://platform.example.com/api`. */
  apiUrl: string;
  /** Where the popup may lead back to, compared character by character; the platform's own page is always allowed. */
  redirectUris: readonly string[];
  /** Another public address of the client documents, with `{issuer}` for `issuerKey`; null: that of the API. */
  clientDocumentUrl: string | null;
}

/**
 * Each issuer sends its codes to an address of its own, so that the code of one is never taken for that of another, also
 * where its responses do not say who answers (RFC 9700, 4.4.2).
 */
export function callbackUri(settings: ConnectionSettings, issuer: string): string {
  return callbackAt(settings, issuerKey(issuer));
}

/** @param key null: the address of attempts that began before each issuer had its own */
export function callbackAt({ apiUrl }: ConnectionSettings, key: string | null): string {
  return `${apiUrl}/v1/mcp-auth/callback${key === null ? '' : `/${key}`}`;
}

/** The platform's client id at an issuer that reads client documents: each names the callback of its issuer. */
export function clientDocumentUrl(settings: ConnectionSettings, key: string | null): string {
  const own = `${settings.apiUrl}/v1/mcp-auth${key === null ? '' : `/clients/${key}`}/client.json`;
  return settings.clientDocumentUrl?.replaceAll('{issuer}', key ?? '') ?? own;
}

/** The name of an issuer in addresses: 22 characters of the alphabet of base64url. */
export function issuerKey(issuer: string): string {
  return createHash('sha256').update(issuer).digest('base64url').slice(0, 22);
}

/** The page that ends the popup of a client without a page of its own. */
export function ownPage({ apiUrl }: ConnectionSettings): string {
  return `${apiUrl}/v1/mcp-auth/done`;
}

/** @throws `redirect_uri_not_allowed` */
export function requireRedirect(settings: ConnectionSettings, redirectUri: string): void {
  if (redirectUri !== ownPage(settings) && !settings.redirectUris.includes(redirectUri)) {
    throw new DomainError('redirect_uri_not_allowed', 'redirect_uri is not on the list of this platform.', {
      param: 'redirect_uri',
    });
  }
}
