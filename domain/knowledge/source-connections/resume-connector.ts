import type { Context } from '#domain/foundation/access/context.ts';
import { signalWithStart } from '#domain/foundation/durable/messages.ts';
import { recordEvent } from '#domain/foundation/events/record-event.ts';
import { cancelRuns } from '#domain/knowledge/connectors/cancel-runs.ts';
import type { Connector } from '#domain/knowledge/connectors/connector.entity.ts';
import { eventOf } from '#domain/knowledge/connectors/connector-event.ts';
import { isRunnable } from '#domain/knowledge/connectors/connector-status.ts';
import { queueRun } from '#domain/knowledge/connectors/queue-run.ts';

/**
 * A connector that has waited for its account goes on by itself: its next run checks the source, and lists all of it. The
 * account may be another one, for which neither the checkpoint nor the end of a run of the account before counts.
 */
export async function resumeConnector(ctx: Context, connector: Connector): Promise<void> {
  const { em, caller } = ctx;
  const { status: from, tenantId, id: connectorId } = connector;
  if (from === 'auth_required') {
    connector.become('active');
    connector.failedRuns = 0;
    connector.failingSince = null;
    await em.flush();
    const metadata = { from_status: from };
    await recordEvent(em, caller, eventOf('collection.connector_resumed', connector, { metadata }));
  }
  await cancelRuns(ctx, connector);
  connector.checkpoint = null;
  await em.flush();
  const isFirst = connector.lastSyncedAt == null;
  if (isRunnable(connector.status) && !(isFirst && connector.syncSchedule?.type === 'manual')) {
    const trigger = isFirst ? 'initial' : 'config_change';
    await queueRun(em, connector, { trigger, mode: 'incremental', createdBy: caller.principalId });
  }
  await ctx.enqueue(signalWithStart('runConnector', { tenantId, connectorId }, 'configChanged', []));
}
