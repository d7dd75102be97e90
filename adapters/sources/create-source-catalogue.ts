import { z } from 'zod';
import { namingKnownFields } from '#domain/foundation/validation/unknown-field.ts';
import { fromIssues } from '#domain/foundation/validation/from-issues.ts';
import type { AuthorizationTarget } from '#domain/capabilities/connections/authorization-servers.ts';
import type { ProviderDescription, SourceCatalogue } from '#domain/knowledge/connectors/source-providers.ts';
import { SourceFailure } from '#domain/knowledge/connectors/source.ts';
import type { AuthorizationPreset, SourceProvider } from './provider.ts';
import { providers as allProviders } from './providers.ts';
import { usableServer } from './usable-server.ts';

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
    serverId: (slug, scopeConfig) => {
      const found = provider(slug);
      return found.serverId?.(found.scope.parse(scopeConfig)) ?? null;
    },
    endpoint: (slug, scopeConfig, toolServer = null) => {
      const found = provider(slug);
      const serverUrl = toolServer === null ? undefined : usableServer(toolServer).url;
      return found.endpoint(found.scope.parse(scopeConfig), serverUrl);
    },
    authorization: (slug, scopeConfig, tenantId) => {
      const found = provider(slug);
      const scope = found.scope.parse(scopeConfig);
      const preset = found.connection?.authorization(scope) ?? null;
      const { origin } = found.endpoint(scope);
      return preset === null || origin === null
        ? null
        : targetOf(preset, { tenantId, provider: slug, title: found.title, origin });
    },
  };
}

function describe({ scope, ...provider }: SourceProvider): ProviderDescription {
  const { slug, title, description, beta, credentialKinds, credentialRequired, detects } = provider;
  const connects = provider.connection !== undefined;
  const scopeSchema = z.toJSONSchema(scope, { io: 'input' });
  return {
    slug,
    title,
    description,
    beta,
    scopeSchema,
    credentialKinds,
    credentialRequired,
    connects,
    detects,
  };
}

/** In the form of what discovery finds. */
function targetOf(
  preset: AuthorizationPreset,
  { tenantId, ...source }: { tenantId: string; provider: string; title: string; origin: string },
): AuthorizationTarget {
  const { issuer, authorizationUrl, tokenUrl, revocationUrl, scope, parameters } = preset;
  return {
    tenantId,
    issuer,
    resource: null,
    scope,
    dpopAlg: null,
    acceptsClientDocuments: false,
    registersClients: false,
    metadata: {
      issuer,
      authorization_endpoint: authorizationUrl,
      token_endpoint: tokenUrl,
      ...(revocationUrl === null ? {} : { revocation_endpoint: revocationUrl }),
      response_types_supported: ['code'],
      code_challenge_methods_supported: ['S256'],
      token_endpoint_auth_methods_supported: [preset.clientAuthentication],
    },
    source: { ...source, parameters },
  };
}

function parseScope(provider: SourceProvider, scopeConfig: unknown): unknown {
  const parsed = provider.scope.safeParse(scopeConfig, { error: namingKnownFields });
  if (parsed.success) {
    return parsed.data;
  }
  const issues = parsed.error.issues.map((issue) => ({ ...issue, path: ['scope_config', ...issue.path] }));
  throw fromIssues(issues, 'body', { scope_config: scopeConfig });
}
