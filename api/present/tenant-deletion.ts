import type { z } from 'zod';
import type * as wire from '#api/contract/tenant-deletion.ts';
import type { DeletionView } from '#domain/operations/tenant-deletion/read-deletion.ts';
import type { RequestedDeletion } from '#domain/operations/tenant-deletion/request-deletion.ts';
import type { TenantDeletion } from '#domain/operations/tenant-deletion/tenant-deletion.entity.ts';

function scheduled(deletion: TenantDeletion) {
  return {
    tenant_id: deletion.tenantId,
    deletion_id: deletion.id,
    status: deletion.status,
    reason_code: deletion.reasonCode,
    requested_at: deletion.requestedAt.toISOString(),
    purge_after: deletion.purgeAfter.toISOString(),
  };
}

export function presentRequested({
  deletion,
  token,
}: RequestedDeletion): z.infer<typeof wire.requestedDeletion>['data'] {
  return { ...scheduled(deletion), certificate_token: token };
}

export function presentDeletion({
  deletion,
  certificate,
}: DeletionView): z.infer<typeof wire.deletionRecord> {
  return {
    ...scheduled(deletion),
    started_at: deletion.startedAt?.toISOString() ?? null,
    ended_at: deletion.endedAt?.toISOString() ?? null,
    progress: {
      step: deletion.step,
      table: deletion.tableName ?? null,
      rows_done: deletion.rowsDone,
      rows_counted: deletion.rowsCounted ?? null,
    },
    failure: deletion.failure ?? null,
    certificate,
  };
}
