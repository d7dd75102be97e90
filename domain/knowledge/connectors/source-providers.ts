import type { CredentialKind } from '#domain/capabilities/credentials/credential-value.ts';
import type { AuthorizationTarget } from '#domain/capabilities/connections/authorization-servers.ts';
import type { SpaceServer } from '#domain/capabilities/tools/space-server.ts';
import type { Source } from './source.ts';

export interface ProviderDescription {
  slug: string;
  title: string;
  /** One sentence for administrators. */
  description: string;
  /** Tested against a fake that speaks the published wire format only, never against the service itself. */
  beta: boolean;
  /** JSON Schema of `scope_config`. */
  scopeSchema: object;
  /** Kinds of the credential that it takes; empty: none. */
  credentialKinds: readonly CredentialKind[];
  credentialRequired: boolean;
  /** Whether an account can be connected by the popup instead. */
  connects: boolean;
  detects: {
    /** Whether a listing shows that a document is unchanged, or its content must be asked for. */
    changes: 'listing' | 'request';
    /** Whether the source reports deletions, they follow from a whole listing, or documents are kept for ever. */
    deletions: 'source' | 'listing' | 'never';
    /** Whether it tells who may read a document there. */
    readers: boolean;
    /** Whether a server that supports it notifies the platform of changes; see `Source.watch`. */
    push: boolean;
  };
}

/** The connector whose source is opened. */
export interface SourceUse {
  tenantId: string;
  spaceId: string;
  /** For whom its credential is used. */
  principalId: string;
  connectorId: string;
  providerSlug: string;
  /** As `parseScope` returned it. */
  scopeConfig: unknown;
  credentialId: string | null;
  /** The client with which an account is connected; omitted or null: the source is read without a connection. */
  clientCredentialId?: string | null;
  /** The tool server that the scope names; null: it names none. */
  toolServer?: SpaceServer | null;
}

export interface SourceEndpoint {
  host: string | null;
  origin: string | null;
}

/** What connectors can be of: enough to describe and to validate one, without reaching any source. */
export interface SourceCatalogue {
  /** In a fixed order. */
  list(): readonly ProviderDescription[];
  find(slug: string): ProviderDescription | null;
  /**
   * The scope in its normal form, defaults included.
   * @throws `invalid_request` or `unknown_parameter`, naming the field below `scope_config`
   */
  parseScope(slug: string, scopeConfig: unknown): unknown;
  /** Id of the connected tool server that the scope names in place of an address; null: it names none. */
  serverId(slug: string, scopeConfig: unknown): string | null;
  /**
   * `host:port` for the shared rate limit, and the origin that a credential must be bound to; null: no such thing.
   * @param toolServer that the scope names
   * @throws SourceFailure for a tool server that cannot be read
   */
  endpoint(slug: string, scopeConfig: unknown, toolServer?: SpaceServer | null): SourceEndpoint;
  /** Where an account is connected; null: not for this provider, or not at this address. */
  authorization(slug: string, scopeConfig: unknown, tenantId: string): AuthorizationTarget | null;
}

/** The port to sources of documents; implemented in adapters/sources. */
export interface SourceProviders extends SourceCatalogue {
  /** @throws SourceFailure, also where the credential or the tool server cannot be used */
  open(use: SourceUse): Promise<Source>;
}
