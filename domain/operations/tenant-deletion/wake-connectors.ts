import type { Context } from '#domain/foundation/access/context.ts';
import { signalWithStart } from '#domain/foundation/durable/messages.ts';
import { Connector } from '#domain/knowledge/connectors/connector.entity.ts';

/** The actors of connectors wait while their tenant is to be deleted; they look again at once. */
export async function wakeConnectors(ctx: Context): Promise<void> {
  const { em, caller } = ctx;
  const connectors = await em.find(Connector, {}, { fields: ['id'] });
  for (const { id: connectorId } of connectors) {
    await ctx.enqueue(
      signalWithStart('runConnector', { tenantId: caller.tenantId, connectorId }, 'configChanged', []),
    );
  }
}
