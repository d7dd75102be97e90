import {
  CredentialFailure,
  type CredentialSource,
  type CredentialUse,
} from '#domain/capabilities/credentials/credential-source.ts';
import type { OpenedCredential } from '#domain/capabilities/credentials/open-credential.ts';
import type { SourceProviders, SourceUse } from '#domain/knowledge/connectors/source-providers.ts';
import { SourceFailure } from '#domain/knowledge/connectors/source.ts';
import { boundedFetch, type BoundedFetchOptions } from '../egress/bounded-fetch.ts';
import { createSourceCatalogue } from './create-source-catalogue.ts';
import type { SourceAccess, SourceProvider } from './provider.ts';

export interface SourceOptions extends BoundedFetchOptions, Pick<SourceAccess, 'connect' | 'roots'> {
  /** Opens a stored credential in its tenant; null where it may not be used. */
  openCredential: (use: CredentialUse) => Promise<OpenedCredential | null>;
  /** Tokens of `oauth2_client` credentials. */
  stored: CredentialSource;
  providers?: readonly SourceProvider[];
}

export function createSourceProviders(options: SourceOptions): SourceProviders {
  const catalogue = createSourceCatalogue(options.providers);
  return {
    ...catalogue,
    open: async (use) => {
      const provider = catalogue.provider(use.providerSlug);
      const scope = provider.scope.parse(use.scopeConfig);
      return provider.open(scope, await accessFor(options, use, provider.endpoint(scope).origin));
    },
  };
}

/** The credential is read once for each opened source: a rotation takes effect with the next slice of a run. */
async function accessFor(
  options: SourceOptions,
  use: SourceUse,
  origin: string | null,
): Promise<SourceAccess> {
  const { tenantId, spaceId, principalId, credentialId } = use;
  const stored: CredentialUse | null =
    credentialId === null || origin === null
      ? null
      : { tenantId, spaceId, principalId, credentialId, url: origin };
  const opened = stored === null ? null : await options.openCredential(stored);
  if (credentialId !== null && opened === null) {
    throw credentialFailure('missing');
  }
  return {
    use,
    fetch: boundedFetch('source', options),
    connect: options.connect,
    roots: options.roots,
    credential: opened?.value ?? null,
    bearer: async () => {
      if (stored === null) {
        throw credentialFailure('missing');
      }
      try {
        const { token } = await options.stored.read(stored);
        if (token !== null) {
          return token;
        }
      } catch (error) {
        throw error instanceof CredentialFailure ? credentialFailure(error.code) : error;
      }
      throw credentialFailure('missing');
    },
  };
}

function credentialFailure(code: CredentialFailure['code']): SourceFailure {
  return code === 'unreachable'
    ? new SourceFailure('source_unreachable', 'The token endpoint of the credential does not answer.')
    : new SourceFailure(
        'auth_failed',
        'The credential may not be used here: it is gone, of another space, or for another origin.',
      );
}
