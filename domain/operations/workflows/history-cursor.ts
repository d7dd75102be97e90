import type { Secrets } from '#domain/foundation/kernel/secrets.ts';
import { decodeCursor, encodeCursor, type CursorScope } from '#domain/foundation/kernel/page.ts';
import type { HistoryPlace } from './workflow-reader.ts';

/** Of a caller's tenant and a workflow. */
export interface HistoryOf {
  tenantId: string;
  workflowId: string;
}

const scopeOf = ({ tenantId, workflowId }: HistoryOf): CursorScope => ({
  tenantId,
  operation: 'workflows.history',
  filters: { workflow_id: workflowId },
});

export function toHistoryCursor(
  secrets: Secrets,
  of: HistoryOf,
  { runId, afterEvent }: HistoryPlace,
): string {
  return encodeCursor(secrets, scopeOf(of), { createdAt: String(afterEvent), id: runId });
}

/** @throws `invalid_cursor` */
export function readHistoryCursor(secrets: Secrets, of: HistoryOf, cursor: string): HistoryPlace {
  const { createdAt, id: runId } = decodeCursor(secrets, scopeOf(of), cursor);
  return { runId, afterEvent: Number(createdAt) };
}
