import type { Context } from '#domain/foundation/access/context.ts';
import { authorize } from '#domain/foundation/access/policy.ts';
import { signalWithStart } from '#domain/foundation/durable/messages.ts';
import { recordEvent } from '#domain/foundation/events/record-event.ts';
import { changedFields } from '#domain/foundation/kernel/changed-fields.ts';
import { DomainError } from '#domain/foundation/kernel/errors.ts';
import { cancelRuns } from './cancel-runs.ts';
import { requireSource } from './connector-spec.ts';
import type { Connector } from './connector.entity.ts';
import { eventOf } from './connector-event.ts';
import { isRunnable } from './connector-status.ts';
import { lockConnector, type ConnectorRef } from './find-connector.ts';
import { queueRun } from './queue-run.ts';
import type { SourceProviders } from './source-providers.ts';
import { requireSchedule, type SyncSchedule } from './sync-schedule.ts';

export interface ConnectorChange extends ConnectorRef {
  scopeConfig?: unknown;
  credentialId?: string | null | undefined;
  syncSchedule?: SyncSchedule | null | undefined;
  status?: 'active' | 'paused' | undefined;
}

/** Refuses what the stored connector does not allow; the source itself is checked outside of the transaction. */
export function requireChangeable(connector: Connector): void {
  if (connector.status === 'deleting') {
    throw new DomainError('invalid_state', 'The connector is being deleted.');
  }
}

/**
 * Changes scope, credential, schedule or status. A connector that becomes `active` begins a run; one that is paused
 * cancels its runs. A new scope or credential lets it leave `auth_required` and `error`: the caller has checked the
 * source with it.
 * @throws `missing_permission`, `collection_not_found`, `connector_not_found`, `invalid_request`, `invalid_state`
 */
export async function updateConnector(
  ctx: Context,
  providers: SourceProviders,
  change: ConnectorChange,
): Promise<Connector> {
  const { caller, em } = ctx;
  authorize(caller, 'connectors.update');
  const connector = await lockConnector(ctx, change);
  requireChangeable(connector);
  const { providerSlug, spaceId } = connector;
  const credentialId =
    change.credentialId === undefined ? (connector.credentialId ?? null) : change.credentialId;
  const given = change.scopeConfig === undefined ? connector.scopeConfig : change.scopeConfig;
  const after = {
    scope_config: await requireSource(
      ctx,
      providers,
      { providerSlug, scopeConfig: given, credentialId },
      spaceId,
    ),
    credential_id: credentialId,
    sync_schedule:
      change.syncSchedule === undefined
        ? (connector.syncSchedule ?? null)
        : requireSchedule(change.syncSchedule),
  };
  const before = {
    scope_config: connector.scopeConfig,
    credential_id: connector.credentialId ?? null,
    sync_schedule: connector.syncSchedule ?? null,
  };
  const changed = changedFields(['scope_config', 'credential_id', 'sync_schedule'], after, before);
  const isOtherSource = changed.includes('scope_config') || changed.includes('credential_id');
  connector.scopeConfig = after.scope_config;
  connector.credentialId = after.credential_id;
  connector.syncSchedule = after.sync_schedule;
  if (changed.includes('scope_config')) {
    connector.checkpoint = null;
  }
  const from = connector.status;
  const isRepaired = isOtherSource && (from === 'auth_required' || from === 'error');
  if (change.status === 'paused') {
    connector.become('paused');
  } else if ((change.status === 'active' && !isRunnable(from)) || isRepaired) {
    connector.become('active');
    connector.failedRuns = 0;
    connector.failingSince = null;
  }
  if (changed.length === 0 && connector.status === from) {
    return connector;
  }
  connector.updatedAt = new Date();
  await em.flush();
  await recordChange(ctx, connector, { changed, from });
  if (connector.status === 'paused') {
    await cancelRuns(ctx, connector);
  } else if (isRunnable(connector.status) && (isOtherSource || from !== connector.status)) {
    const { principalId: createdBy } = caller;
    await queueRun(em, connector, { trigger: 'config_change', mode: 'incremental', createdBy });
  }
  const ids = { tenantId: caller.tenantId, connectorId: connector.id };
  await ctx.enqueue(signalWithStart('runConnector', ids, 'configChanged', []));
  return connector;
}

async function recordChange(
  { em, caller }: Context,
  connector: Connector,
  { changed, from }: { changed: string[]; from: Connector['status'] },
): Promise<void> {
  if (changed.length > 0) {
    await recordEvent(
      em,
      caller,
      eventOf('collection.connector_updated', connector, { changedFields: changed }),
    );
  }
  if (connector.status !== from) {
    const type =
      connector.status === 'paused' ? 'collection.connector_paused' : 'collection.connector_resumed';
    await recordEvent(em, caller, eventOf(type, connector, { metadata: { from_status: from } }));
  }
}
