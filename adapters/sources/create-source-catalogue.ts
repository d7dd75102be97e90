import { z } from 'zod';
import { DomainError } from '#domain/foundation/kernel/errors.ts';
import type { ProviderDescription, SourceCatalogue } from '#domain/knowledge/connectors/source-providers.ts';
import { SourceFailure } from '#domain/knowledge/connectors/source.ts';
import type { SourceProvider } from './provider.ts';
import { providers as allProviders } from './providers.ts';

/** A catalogue that also finds the provider itself. */
interface ProviderCatalogue extends SourceCatalogue {
  /** @throws SourceFailure for a slug of another version */
  provider(slug: string): SourceProvider;
}

/** Describes and validates; it reaches no source. */
export function createSourceCatalogue(
  providers: readonly SourceProvider[] = allProviders,
): ProviderCatalogue {
  const bySlug = new Map(providers.map((each) => [each.slug, each]));
  const descriptions = providers.map(describe);
  const provider = (slug: string): SourceProvider => {
    const found = bySlug.get(slug);
    if (found === undefined) {
      throw new SourceFailure('scope_invalid', 'This version of the platform has no such provider.');
    }
    return found;
  };
  return {
    provider,
    list: () => descriptions,
    find: (slug) => descriptions.find((each) => each.slug === slug) ?? null,
    parseScope: (slug, scopeConfig) => parseScope(provider(slug), scopeConfig),
    endpoint: (slug, scopeConfig) => {
      const found = provider(slug);
      return found.endpoint(found.scope.parse(scopeConfig));
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
