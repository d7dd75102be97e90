import { LockMode } from '@mikro-orm/core';
import type { Context } from '#domain/foundation/access/context.ts';
import { authorize } from '#domain/foundation/access/policy.ts';
import { signalWithStart } from '#domain/foundation/durable/messages.ts';
import { recordEvent } from '#domain/foundation/events/record-event.ts';
import { notFound } from '#domain/foundation/kernel/errors.ts';
import type { LockHolder } from '#domain/capabilities/connections/complete-authorization.ts';
import { cancelRuns } from '#domain/knowledge/connectors/cancel-runs.ts';
import { Connector } from '#domain/knowledge/connectors/connector.entity.ts';
import { eventOf } from '#domain/knowledge/connectors/connector-event.ts';
import { isRunnable } from '#domain/knowledge/connectors/connector-status.ts';
import { queueRun } from '#domain/knowledge/connectors/queue-run.ts';
import type { SourceCatalogue } from '#domain/knowledge/connectors/source-providers.ts';
import { holderOf } from './read-connection.ts';

/** The holder of an attempt for a connector. @throws `missing_permission`, `connector_not_found` */
export function lockConnectorHolder(providers: SourceCatalogue): LockHolder {
  return async (ctx, attempt) => {
    authorize(ctx.caller, 'connectors.update');
    const where = { id: attempt.connectorId ?? '', spaceId: attempt.spaceId };
    const connector = await ctx.em.findOne(Connector, where, {
      lockMode: LockMode.PESSIMISTIC_WRITE,
      refresh: true,
    });
    if (connector === null || connector.status === 'deleting') {
      throw notFound('connector_not_found');
    }
    const { providerSlug, scopeConfig, clientCredentialId = null } = connector;
    const { origin } = providers.endpoint(providerSlug, scopeConfig);
    const isSame =
      origin !== null &&
      clientCredentialId !== null &&
      origin === attempt.target.source?.origin &&
      clientCredentialId === attempt.clientCredentialId;
    return {
      shown: holderOf(connector),
      key: isSame ? { connectorId: connector.id, origin } : null,
      connected: () => resume(ctx, connector),
    };
  };
}

/**
 * A connector that has waited for its account goes on by itself: its next run checks the source, and lists all of it. The
 * account may be another one, for which neither the checkpoint nor the end of a run of the account before counts.
 */
async function resume(ctx: Context, connector: Connector): Promise<void> {
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
