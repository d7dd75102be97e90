import type { Context } from '#domain/foundation/access/context.ts';
import { authorize } from '#domain/foundation/access/policy.ts';
import { signalWithStart } from '#domain/foundation/durable/messages.ts';
import { recordEvent } from '#domain/foundation/events/record-event.ts';
import { withdrawOfConnector } from '#domain/capabilities/connections/withdraw-connections.ts';
import { cancelRuns } from './cancel-runs.ts';
import type { Connector } from './connector.entity.ts';
import { eventOf } from './connector-event.ts';
import { isRunnable } from './connector-status.ts';
import { lockConnector } from './find-connector.ts';
import { requireChecked, resolveChange, type ConnectorChange } from './plan-update.ts';
import { queueRun } from './queue-run.ts';
import type { SourceCatalogue, SourceUse } from './source-providers.ts';

/**
 * Changes scope, credential, schedule or status. A connector that becomes `active` begins a run; pausing and another
 * source cancel its runs. A new scope or credential lets it leave `auth_required` and `error`.
 * @param checked the source that has answered for this change; omitted: the caller vouches for it
 * @throws `missing_permission`, `collection_not_found`, `connector_not_found`, `invalid_request`, `invalid_state`
 */
export async function updateConnector(
  ctx: Context,
  providers: SourceCatalogue,
  change: ConnectorChange,
  checked?: SourceUse | null,
): Promise<Connector> {
  const { caller, em } = ctx;
  authorize(caller, 'connectors.update');
  const connector = await lockConnector(ctx, change);
  const resolved = await resolveChange(ctx, providers, connector, change);
  if (checked !== undefined) {
    requireChecked(resolved, checked);
  }
  const { after, changed, isOtherSource, endsConnection, becomes } = resolved;
  connector.scopeConfig = after.scopeConfig;
  connector.credentialId = after.credentialId;
  connector.clientCredentialId = after.clientCredentialId;
  connector.syncSchedule = after.syncSchedule;
  if (isOtherSource) {
    connector.checkpoint = null;
  }
  const from = connector.status;
  if (becomes !== null && becomes !== from) {
    connector.become(becomes);
  }
  if (becomes === 'active') {
    connector.failedRuns = 0;
    connector.failingSince = null;
  }
  if (changed.length === 0 && connector.status === from) {
    return connector;
  }
  connector.updatedAt = new Date();
  await em.flush();
  await recordChange(ctx, connector, { changed, from });
  if (endsConnection) {
    await withdrawOfConnector(ctx, connector.id, 'mode_changed');
  }
  // Neither the listing nor the failure of a run with the source of before counts for the connector as it is now.
  if (isOtherSource || connector.status === 'paused' || connector.status === 'auth_required') {
    await cancelRuns(ctx, connector);
  }
  if (isRunnable(connector.status) && (isOtherSource || from !== connector.status)) {
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
    const type = eventTypeOf(connector.status);
    const notify = type === 'collection.connector_auth_required' ? { notify: false } : {};
    await recordEvent(em, caller, eventOf(type, connector, { ...notify, metadata: { from_status: from } }));
  }
}

function eventTypeOf(status: Connector['status']) {
  switch (status) {
    case 'paused':
      return 'collection.connector_paused';
    case 'auth_required':
      return 'collection.connector_auth_required';
    default:
      return 'collection.connector_resumed';
  }
}
