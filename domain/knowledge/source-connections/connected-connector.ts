import { DomainError } from '#domain/foundation/kernel/errors.ts';
import type { AuthorizationTarget } from '#domain/capabilities/connections/authorization-servers.ts';
import type { Connector } from '#domain/knowledge/connectors/connector.entity.ts';
import type { SourceCatalogue } from '#domain/knowledge/connectors/source-providers.ts';

/** @throws `invalid_state` for a connector that is read with a credential, or without one */
export function requireConnected({ clientCredentialId }: Connector): void {
  if (clientCredentialId == null) {
    throw noConnection();
  }
}

/** The authorization server of a connector, and the origin that its tokens are for. @throws `invalid_state` */
export function targetOf(
  providers: SourceCatalogue,
  { providerSlug, scopeConfig, tenantId }: Connector,
): { target: AuthorizationTarget; origin: string } {
  const target = providers.authorization(providerSlug, scopeConfig, tenantId);
  if (target?.source === undefined) {
    throw noConnection();
  }
  return { target, origin: target.source.origin };
}

function noConnection(): DomainError {
  return new DomainError('invalid_state', 'This connector is not used with a connection.');
}
