import type { Context } from '#domain/foundation/access/context.ts';
import { authorize } from '#domain/foundation/access/policy.ts';
import { DomainError } from '#domain/foundation/kernel/errors.ts';
import {
  requireRedirect,
  type ConnectionSettings,
} from '#domain/capabilities/connections/connection-parts.ts';
import { findConnection } from '#domain/capabilities/connections/find-connection.ts';
import {
  insertAttempt,
  requireFewAttempts,
  type BegunAttempt,
} from '#domain/capabilities/connections/insert-attempt.ts';
import { unionOf } from '#domain/capabilities/connections/scopes.ts';
import type { Connector } from '#domain/knowledge/connectors/connector.entity.ts';
import { lockConnector, type ConnectorRef } from '#domain/knowledge/connectors/find-connector.ts';
import type { SourceCatalogue } from '#domain/knowledge/connectors/source-providers.ts';
import { requireConnected, targetOf } from './connected-connector.ts';

/**
 * Begins to connect an account for a connector. Its authorization server is known to the provider: nothing is asked
 * before the popup is open. It ends an earlier attempt of the same person.
 * @throws `missing_permission`, `collection_not_found`, `connector_not_found`, `redirect_uri_not_allowed`,
 *   `invalid_state` for a connector without a connection, `authorization_client_required`
 */
export async function beginSourceAuthorization(
  ctx: Context,
  { providers, settings }: { providers: SourceCatalogue; settings: ConnectionSettings },
  { redirectUri, ...ref }: ConnectorRef & { redirectUri: string },
): Promise<BegunAttempt> {
  authorize(ctx.caller, 'connectors.update');
  const connector = await lockConnector(ctx, ref);
  requireRedirect(settings, redirectUri);
  requireConnected(connector);
  requireKept(connector);
  await requireFewAttempts(ctx, { connectorId: connector.id });
  const { target, origin } = targetOf(providers, connector);
  const known = await findConnection(ctx.em, { connectorId: connector.id, origin });
  const { tenantId, spaceId, id: connectorId, clientCredentialId = null } = connector;
  const plan = {
    tenantId,
    spaceId,
    serverId: null,
    connectorId,
    clientCredentialId,
    ownerId: null,
    redirectUri,
  };
  const scope = unionOf(target.scope, known?.grantedScope);
  return insertAttempt(ctx, settings, plan, { target, scope, clientId: null });
}

function requireKept({ status }: Connector): void {
  if (status === 'deleting') {
    throw new DomainError('invalid_state', 'The connector is being deleted.');
  }
}
