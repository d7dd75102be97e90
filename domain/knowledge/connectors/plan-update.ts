import { isDeepStrictEqual } from 'node:util';
import type { Context } from '#domain/foundation/access/context.ts';
import { authorize } from '#domain/foundation/access/policy.ts';
import { DomainError } from '#domain/foundation/kernel/errors.ts';
import { requireSource, sourceOf } from './connector-spec.ts';
import type { Connector } from './connector.entity.ts';
import { isRunnable } from './connector-status.ts';
import { findConnector, type ConnectorRef } from './find-connector.ts';
import type { SourceCatalogue, SourceUse } from './source-providers.ts';
import { requireSchedule, type SyncSchedule } from './sync-schedule.ts';

export interface ConnectorChange extends ConnectorRef {
  scopeConfig?: unknown;
  credentialId?: string | null | undefined;
  clientCredentialId?: string | null | undefined;
  syncSchedule?: SyncSchedule | null | undefined;
  status?: 'active' | 'paused' | undefined;
}

interface ConnectorSettings {
  scopeConfig: unknown;
  credentialId: string | null;
  clientCredentialId: string | null;
  syncSchedule: SyncSchedule | null;
}

export interface ResolvedChange {
  after: ConnectorSettings;
  /** Names of fields as in the API. */
  changed: string[];
  isOtherSource: boolean;
  /** The account that is connected, if any, is not for these settings: the connection ends. */
  endsConnection: boolean;
  /** Null: the status stays. */
  becomes: 'active' | 'paused' | 'auth_required' | null;
}

/**
 * What a change makes of a connector.
 * @throws `invalid_state` while it is being deleted, `invalid_request`
 */
export async function resolveChange(
  ctx: Context,
  providers: SourceCatalogue,
  connector: Connector,
  change: ConnectorChange,
): Promise<ResolvedChange> {
  if (connector.status === 'deleting') {
    throw new DomainError('invalid_state', 'The connector is being deleted.');
  }
  const before: ConnectorSettings = {
    scopeConfig: connector.scopeConfig,
    credentialId: connector.credentialId ?? null,
    clientCredentialId: connector.clientCredentialId ?? null,
    syncSchedule: connector.syncSchedule ?? null,
  };
  const after = { ...before };
  if (
    [change.scopeConfig, change.credentialId, change.clientCredentialId].some((each) => each !== undefined)
  ) {
    const { providerSlug, spaceId } = connector;
    after.credentialId = change.credentialId === undefined ? before.credentialId : change.credentialId;
    after.clientCredentialId =
      change.clientCredentialId === undefined ? before.clientCredentialId : change.clientCredentialId;
    const { credentialId, clientCredentialId } = after;
    const scopeConfig = change.scopeConfig ?? before.scopeConfig;
    const given = { providerSlug, scopeConfig, credentialId, clientCredentialId };
    after.scopeConfig = await requireSource(ctx, providers, given, spaceId);
  }
  if (change.syncSchedule !== undefined) {
    after.syncSchedule = requireSchedule(change.syncSchedule);
  }
  const differs = (field: keyof ConnectorSettings): boolean =>
    !isDeepStrictEqual(asStored(after[field]), asStored(before[field]));
  const isOtherSource = differs('scopeConfig') || differs('credentialId') || differs('clientCredentialId');
  const originOf = ({ scopeConfig }: ConnectorSettings) =>
    providers.endpoint(connector.providerSlug, scopeConfig).origin;
  const endsConnection =
    differs('clientCredentialId') ||
    (before.clientCredentialId !== null && originOf(before) !== originOf(after));
  const needsConnection = endsConnection && after.clientCredentialId !== null;
  const isStopped = connector.status === 'auth_required' || connector.status === 'error';
  const activates =
    (change.status === 'active' && !isRunnable(connector.status)) || (isOtherSource && isStopped);
  return {
    after,
    changed: [
      ...(differs('scopeConfig') ? ['scope_config'] : []),
      ...(differs('credentialId') ? ['credential_id'] : []),
      ...(differs('clientCredentialId') ? ['client_credential_id'] : []),
      ...(differs('syncSchedule') ? ['sync_schedule'] : []),
    ],
    isOtherSource,
    endsConnection,
    becomes:
      change.status === 'paused'
        ? 'paused'
        : needsConnection
          ? requiredFrom(connector.status)
          : activates
            ? 'active'
            : null,
  };
}

/** A paused connector stays paused: it asks for its account when it is resumed. */
function requiredFrom(status: Connector['status']): 'auth_required' | null {
  return status === 'paused' ? null : 'auth_required';
}

/** JSON has no absent members; the order of members is no difference. */
const asStored = (value: unknown): unknown => JSON.parse(JSON.stringify(value)) as unknown;

/**
 * The source that has to be checked before a change, outside of the transaction; null: the change needs no check.
 * @throws `missing_permission`, `collection_not_found`, `connector_not_found`, `invalid_request`, `invalid_state`
 */
export async function planUpdate(
  ctx: Context,
  providers: SourceCatalogue,
  change: ConnectorChange,
): Promise<SourceUse | null> {
  authorize(ctx.caller, 'connectors.update');
  const connector = await findConnector(ctx, change);
  const resolved = await resolveChange(ctx, providers, connector, change);
  return needsCheck(resolved) ? sourceOf(ctx.em, providers, connector, resolved.after) : null;
}

/** Whether the source must have answered before the change: it cannot where an account has to be connected again. */
export function needsCheck({ after, isOtherSource, endsConnection, becomes }: ResolvedChange): boolean {
  const cannotAnswer = endsConnection && after.clientCredentialId !== null;
  return !cannotAnswer && (isOtherSource || becomes === 'active');
}

/** @throws `invalid_state` if the connector has changed since its source was checked */
export function requireChecked(resolved: ResolvedChange, checked: SourceUse | null): void {
  const { scopeConfig, credentialId, clientCredentialId } = resolved.after;
  const isChecked =
    checked !== null &&
    checked.credentialId === credentialId &&
    (checked.clientCredentialId ?? null) === clientCredentialId &&
    isDeepStrictEqual(asStored(checked.scopeConfig), asStored(scopeConfig));
  if (needsCheck(resolved) && !isChecked) {
    throw new DomainError('invalid_state', 'The connector was changed during its check; try again.');
  }
}
