import type { Socket } from 'node:net';
import type { z } from 'zod';
import type { CredentialValue } from '#domain/capabilities/credentials/credential-value.ts';
import type {
  ProviderDescription,
  SourceEndpoint,
  SourceUse,
} from '#domain/knowledge/connectors/source-providers.ts';
import type { Source } from '#domain/knowledge/connectors/source.ts';
import type { Dialect } from '../authorization/dialect.ts';
import type { Target } from '../egress/guarded-connect.ts';

/** What a provider may use to reach its source; every way out is guarded and bounded. */
export interface SourceAccess {
  use: SourceUse;
  /**
   * Public addresses over https, and the origins that the operator lists; bounded in bytes after inflation and in time.
   * Never follows a redirect: `shared/follow-redirects.ts` does, with each address checked.
   */
  fetch: typeof globalThis.fetch;
  /** The same for an event stream on which a server reports changes for hours; see `Source.watch`. */
  stream: typeof globalThis.fetch;
  /** A TCP connection under the same rules, for protocols other than HTTP; its origin is `<scheme>://host:port`. */
  connect(target: Target): Promise<Socket>;
  /** The opened value of the connector's credential, bound to the origin of `endpoint`; null: it has none. */
  credential: CredentialValue | null;
  /** Whether an account is connected, whose token `bearer` gives in place of a credential. */
  isConnected?: boolean;
  /** A bearer token of the connection, or for an `oauth2_client` credential, from its token endpoint, cached. */
  bearer(): Promise<string>;
  /** Address of the connected tool server that the scope names; `credential` and `bearer` are those of the server. */
  serverUrl?: string;
  /** Folders that the operator opens to connectors, by name. */
  roots: ReadonlyMap<string, string>;
}

/** The authorization server of a source, known without discovery. */
export interface AuthorizationPreset {
  issuer: string;
  authorizationUrl: string;
  tokenUrl: string;
  /** null: tokens cannot be revoked there. */
  revocationUrl: string | null;
  /** Separated by spaces. */
  scope: string | null;
  /** Added to the authorization request. */
  parameters: Record<string, string>;
  clientAuthentication: 'client_secret_post' | 'client_secret_basic';
}

/** How an account is connected by the popup. */
export interface ProviderConnection<Scope> {
  /** null: not at the address of this scope. */
  authorization(scope: Scope): AuthorizationPreset | null;
  /** Omitted: the server follows the standards. */
  dialect?: Dialect;
}

/** A provider: its description, the form of its scope, and the way to open a source. One file `adapters/sources/<slug>/provider.ts`. */
export interface SourceProvider<Scope = unknown> extends Omit<
  ProviderDescription,
  'scopeSchema' | 'connects'
> {
  /** Strict; with defaults and descriptions, from which the JSON Schema is made. */
  scope: z.ZodType<Scope>;
  /** Id of the connected tool server that a scope names in place of an address; omitted: none can. */
  serverId?(scope: Scope): string | null;
  /** See `SourceProviders.endpoint`. */
  endpoint(scope: Scope, serverUrl?: string): SourceEndpoint;
  /** Omitted: it is read with a credential only. */
  connection?: ProviderConnection<Scope>;
  open(scope: Scope, access: SourceAccess): Source | Promise<Source>;
}

export function defineProvider<Scope>(provider: SourceProvider<Scope>): SourceProvider<Scope> {
  return provider;
}
