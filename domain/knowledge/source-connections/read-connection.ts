import type { Context } from '#domain/foundation/access/context.ts';
import { authorize } from '#domain/foundation/access/policy.ts';
import { findConnection } from '#domain/capabilities/connections/find-connection.ts';
import {
  findOpenAttempt,
  shownConnection,
  type ConnectionHolder,
  type ShownConnection,
} from '#domain/capabilities/connections/read-connection.ts';
import type { Connector } from '#domain/knowledge/connectors/connector.entity.ts';
import { findConnector, type ConnectorRef } from '#domain/knowledge/connectors/find-connector.ts';
import type { SourceCatalogue } from '#domain/knowledge/connectors/source-providers.ts';
import { requireConnected, targetOf } from './connected-connector.ts';

/**
 * The connection of a connector, also where there is none yet. @throws `missing_permission`, `collection_not_found`,
 * `connector_not_found`, `invalid_state` for a connector without a connection
 */
export async function readSourceConnection(
  ctx: Context,
  providers: SourceCatalogue,
  ref: ConnectorRef,
): Promise<ShownConnection> {
  authorize(ctx.caller, 'connectors.read');
  const connector = await findConnector(ctx, ref);
  requireConnected(connector);
  const { id: connectorId } = connector;
  const { origin } = targetOf(providers, connector);
  const connection = await findConnection(ctx.em, { connectorId, origin });
  return shownConnection(holderOf(connector), connection, await findOpenAttempt(ctx, { connectorId }));
}

export function holderOf({ id: connectorId }: Connector): ConnectionHolder {
  return { serverId: null, connectorId, owner: 'shared' };
}
