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
}

export function callbackUri({ apiUrl }: ConnectionSettings): string {
  return `${apiUrl}/v1/mcp-auth/callback`;
}

export function clientDocumentUrl({ apiUrl }: ConnectionSettings): string {
  return `${apiUrl}/v1/mcp-auth/client.json`;
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
