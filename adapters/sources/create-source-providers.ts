import { z } from 'zod';
import {
  CredentialFailure,
  type CredentialSource,
  type CredentialUse,
} from '#domain/capabilities/credentials/credential-source.ts';
import type { OpenedCredential } from '#domain/capabilities/credentials/open-credential.ts';
import { DomainError } from '#domain/foundation/kernel/errors.ts';
import type {
  ProviderDescription,
  SourceProviders,
  SourceUse,
} from '#domain/knowledge/connectors/source-providers.ts';
import { SourceFailure } from '#domain/knowledge/connectors/source.ts';
import { boundedFetch, type BoundedFetchOptions } from '../egress/bounded-fetch.ts';
import type { SourceAccess, SourceProvider } from './provider.ts';
import { providers as allProviders } from './providers.ts';

export interface SourceOptions extends BoundedFetchOptions, Pick<SourceAccess, 'connect' | 'roots'> {
  /** Opens a stored credential in its tenant; null where it may not be used. */
  openCredential: (use: CredentialUse) => Promise<OpenedCredential | null>;
  /** Tokens of `oauth2_client` credentials. */
  stored: CredentialSource;
  providers?: readonly SourceProvider[];
}

export function createSourceProviders(options: SourceOptions): SourceProviders {
  const bySlug = new Map((options.providers ?? allProviders).map((provider) => [provider.slug, provider]));
  const descriptions = [...bySlug.values()].map(describe);
  const find = (slug: string): SourceProvider => {
    const provider = bySlug.get(slug);
    if (provider === undefined) {
      throw new SourceFailure('scope_invalid', 'This version of the platform has no such provider.');
    }
    return provider;
  };
  return {
    list: () => descriptions,
    find: (slug) => descriptions.find((each) => each.slug === slug) ?? null,
    parseScope: (slug, scopeConfig) => parseScope(find(slug), scopeConfig),
    endpoint: (slug, scopeConfig) => {
      const provider = find(slug);
      return provider.endpoint(provider.scope.parse(scopeConfig));
    },
    open: async (use) => {
      const provider = find(use.providerSlug);
      const scope = provider.scope.parse(use.scopeConfig);
      return provider.open(scope, await accessFor(options, use, provider.endpoint(scope).origin));
    },
  };
}

function describe({ scope, ...provider }: SourceProvider): ProviderDescription {
  const { slug, title, description, beta, credentialKinds, credentialRequired, detects } = provider;
  const scopeSchema = z.toJSONSchema(scope, { io: 'input' });
  return { slug, title, description, beta, scopeSchema, credentialKinds, credentialRequired, detects };
}

function parseScope(provider: SourceProvider, scopeConfig: unknown): unknown {
  const parsed = provider.scope.safeParse(scopeConfig);
  if (parsed.success) {
    return parsed.data;
  }
  const errors = parsed.error.issues.slice(0, 20).map(({ path, message }) => ({
    in: 'body' as const,
    pointer: ['', 'scope_config', ...path]
      .map((part) => String(part).replaceAll('~', '~0').replaceAll('/', '~1'))
      .join('/'),
    code: 'invalid',
    message,
  }));
  const [first] = errors;
  throw new DomainError(
    'invalid_request',
    `${first?.pointer.slice(1) ?? 'scope_config'}: ${first?.message ?? 'is invalid'}.`,
    {
      param: 'scope_config',
      errors,
    },
  );
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
