import type { z } from 'zod';
import type {
  connectorProviderRecord,
  connectorRecord,
  sourceDocumentRecord,
  syncRunRecord,
} from '#api/contract/connectors.ts';
import { workflowIdOf } from '#domain/foundation/durable/workflow-types.ts';
import type { Connector } from '#domain/knowledge/connectors/connector.entity.ts';
import { isRunnable } from '#domain/knowledge/connectors/connector-status.ts';
import type { SourceDocument } from '#domain/knowledge/connectors/source-document.entity.ts';
import type { ProviderDescription } from '#domain/knowledge/connectors/source-providers.ts';
import type { SyncRun } from '#domain/knowledge/connectors/sync-run.entity.ts';
import { nextRuns } from '#domain/knowledge/connectors/sync-schedule.ts';

const shownRuns = 5;

export function presentConnector(
  connector: Connector,
  now: Date = new Date(),
): z.infer<typeof connectorRecord> {
  const syncSchedule = connector.syncSchedule ?? null;
  const times = isRunnable(connector.status) ? nextRuns(syncSchedule, connector.id, now, shownRuns) : [];
  return {
    id: connector.id,
    collection_id: connector.collectionId,
    provider_slug: connector.providerSlug,
    principal_id: connector.principalId,
    credential_id: connector.credentialId ?? null,
    client_credential_id: connector.clientCredentialId ?? null,
    scope_config: connector.scopeConfig,
    status: connector.status,
    status_reason: connector.statusReason ?? null,
    sync_schedule: syncSchedule,
    next_runs: times.map((time) => time.toISOString()),
    last_synced_at: connector.lastSyncedAt?.toISOString() ?? null,
    created_at: connector.createdAt.toISOString(),
    updated_at: connector.updatedAt.toISOString(),
  };
}

export function presentSyncRun(run: SyncRun): z.infer<typeof syncRunRecord> {
  const total = run.total ?? null;
  const { tenantId, id: runId } = run;
  return {
    id: run.id,
    collection_connector_id: run.connectorId,
    status: run.status,
    started_at: run.startedAt?.toISOString() ?? null,
    completed_at: run.completedAt?.toISOString() ?? null,
    records_fetched: run.recordsFetched,
    error_message:
      run.errorCode == null
        ? null
        : `${run.errorCode}: ${run.errorText ?? 'The run ended for a reason of the platform.'}`,
    metadata: {
      trigger: run.trigger,
      mode: run.mode,
      added: run.added,
      updated: run.updated,
      unchanged: run.unchanged,
      skipped: run.skipped,
      failed: run.failed,
      deleted: run.deleted,
      deletes_held: run.deletesHeld,
      total,
      remaining: total === null ? null : Math.max(total - run.recordsFetched, 0),
      rate: rateOf(run),
      bytes: run.bytes,
      cursor_from: run.cursorFrom ?? null,
      cursor_to: run.cursorTo ?? null,
      rate_limited_ms: run.rateLimitedMs,
      attempts: run.attempts,
      errors: run.hidesDocuments ? run.errors.map((error) => ({ ...error, ref: null })) : run.errors,
      workflow_id: run.startedAt == null ? null : workflowIdOf('syncConnector', { tenantId, runId }),
    },
    created_at: run.createdAt.toISOString(),
  };
}

/** Up to the last change of the record, so that a record without a change stays the same. */
function rateOf({ startedAt, completedAt, updatedAt, recordsFetched }: SyncRun): number | null {
  const ms = startedAt == null ? 0 : (completedAt ?? updatedAt).getTime() - startedAt.getTime();
  return ms <= 0 ? null : Math.round((recordsFetched / ms) * 1_000 * 100) / 100;
}

export function presentSourceDocument(document: SourceDocument): z.infer<typeof sourceDocumentRecord> {
  return {
    id: document.id,
    document_id: document.documentId ?? null,
    ref: document.ref,
    name: document.name,
    url: document.url ?? null,
    byte_size: document.byteSize ?? null,
    state: document.state,
    error_code: document.errorCode ?? null,
    version: document.version ?? null,
    created_at: document.createdAt.toISOString(),
    updated_at: document.updatedAt.toISOString(),
  };
}

export function presentProvider(provider: ProviderDescription): z.infer<typeof connectorProviderRecord> {
  return {
    slug: provider.slug,
    title: provider.title,
    description: provider.description,
    beta: provider.beta,
    scope_schema: { ...provider.scopeSchema },
    credential_kinds: [...provider.credentialKinds],
    credential_required: provider.credentialRequired,
    connects: provider.connects,
    detects: { ...provider.detects },
  };
}
