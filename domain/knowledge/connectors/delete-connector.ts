import type { Context } from '#domain/foundation/access/context.ts';
import { authorize } from '#domain/foundation/access/policy.ts';
import { signalWithStart } from '#domain/foundation/durable/messages.ts';
import { recordEvent } from '#domain/foundation/events/record-event.ts';
import { withdrawOfConnector } from '#domain/capabilities/connections/withdraw-connections.ts';
import { cancelRuns } from './cancel-runs.ts';
import type { Connector } from './connector.entity.ts';
import { eventOf } from './connector-event.ts';
import { expectWithin } from './expect-within.ts';
import { lockConnector, type ConnectorRef } from './find-connector.ts';

/**
 * Begins the deletion of a connector: its runs are cancelled, then its documents are deleted, or stay as documents of
 * the collection. Repeating it changes nothing.
 * @throws `missing_permission`, `collection_not_found`, `connector_not_found`
 */
export async function deleteConnector(
  ctx: Context,
  input: ConnectorRef & { retainDocuments: boolean },
): Promise<Connector> {
  const { caller, em } = ctx;
  authorize(caller, 'connectors.delete');
  const connector = await lockConnector(ctx, input);
  if (connector.status === 'deleting') {
    return connector;
  }
  connector.become('deleting');
  connector.retainDocuments = input.retainDocuments;
  await em.flush();
  await expectWithin(em, connector, 0);
  await cancelRuns(ctx, connector);
  await withdrawOfConnector(ctx, connector.id, 'connector_deleted');
  const metadata = { retain_documents: input.retainDocuments };
  await recordEvent(em, caller, eventOf('collection.connector_deleted', connector, { metadata }));
  const ids = { tenantId: caller.tenantId, connectorId: connector.id };
  await ctx.enqueue(signalWithStart('runConnector', ids, 'deleted', []));
  return connector;
}
