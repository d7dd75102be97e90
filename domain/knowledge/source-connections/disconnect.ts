import type { Context } from '#domain/foundation/access/context.ts';
import { authorize } from '#domain/foundation/access/policy.ts';
import { recordEvent } from '#domain/foundation/events/record-event.ts';
import { notFound } from '#domain/foundation/kernel/errors.ts';
import { withdrawOfConnector } from '#domain/capabilities/connections/withdraw-connections.ts';
import { cancelRuns } from '#domain/knowledge/connectors/cancel-runs.ts';
import { eventOf } from '#domain/knowledge/connectors/connector-event.ts';
import { isRunnable } from '#domain/knowledge/connectors/connector-status.ts';
import { lockConnector, type ConnectorRef } from '#domain/knowledge/connectors/find-connector.ts';
import { requireConnected } from './connected-connector.ts';

/**
 * Ends the connection of a connector: its runs are cancelled, and it waits for another account. @returns the id of the
 * connection, for the revocation @throws `missing_permission`, `collection_not_found`, `connector_not_found`,
 * `invalid_state` for a connector without a connection, `connection_not_found`
 */
export async function disconnectSource(ctx: Context, ref: ConnectorRef): Promise<string> {
  const { em, caller } = ctx;
  authorize(caller, 'connectors.update');
  const connector = await lockConnector(ctx, ref);
  requireConnected(connector);
  const connectionId = await withdrawOfConnector(ctx, connector.id, 'disconnected');
  if (connectionId === null) {
    throw notFound('connection_not_found');
  }
  const { status: from } = connector;
  if (isRunnable(from)) {
    connector.become('auth_required');
    await em.flush();
    await cancelRuns(ctx, connector);
    const metadata = { from_status: from };
    // The person who disconnects it knows.
    await recordEvent(
      em,
      caller,
      eventOf('collection.connector_auth_required', connector, { notify: false, metadata }),
    );
  }
  return connectionId;
}
