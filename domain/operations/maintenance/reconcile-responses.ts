import { isPending } from '#domain/foundation/durable/outbox.ts';
import { workflowIdOf } from '#domain/foundation/durable/workflow-types.ts';
import { closeResponse } from '#domain/responses/end/close-response.ts';
import { lockHead } from '#domain/responses/store/head.ts';
import { generationStart } from '#domain/responses/store/generation-start.ts';
import { releaseStranded } from '#domain/responses/end/release-stranded.ts';
import { queueLimitMs } from '#domain/responses/record/response-status.ts';
import { reconciling, type Unfinished } from './reconcile.ts';
import type { SweepDependencies } from '#domain/operations/sweep-kinds/sweep.ts';

/** After this delay the sweep enforces a deadline that the workflow has not enforced. */
const deadlineGraceMs = 60_000;

interface StaleRow {
  tenant_id: string;
  response_id: string;
  status: 'queued' | 'in_progress';
  created_at: string;
  queued_since: Date;
  deadline_at: Date | null;
  /** Its retention is over: no reader can read its content. */
  expired: boolean;
  /** It is blocked by another response, whose end will start it. */
  waits: boolean;
  /** The response that blocked it has ended without starting it. */
  stranded: boolean;
  /** When it was listed, by the database's clock. */
  listed_at: Date;
}

/**
 * Compares running responses with Temporal, so that none stays non-terminal. If the workflow was terminated, the
 * response fails. If Temporal lost the workflow, it is started again and continues from its prefix. A response whose
 * retention is over is ended; a response that is no longer blocked is started.
 */
export const reconcileResponses = reconciling<StaleRow>({
  listFunction: 'list_stale',
  start: ['-infinity', ''],
  placeOf: (row) => [row.created_at, row.response_id],
  resolve,
  unfinished: (row) => generation({ tenantId: row.tenant_id, responseId: row.response_id }),
});

/** @returns false if the workflow should be processing the response */
async function resolve({ unitOfWork }: SweepDependencies, row: StaleRow): Promise<boolean> {
  const { tenant_id: tenantId, response_id: responseId } = row;
  if (row.expired) {
    await unitOfWork.inTenant(tenantId, (em) => generation({ tenantId, responseId }).giveUp(em, null));
  } else if (row.stranded) {
    await unitOfWork.inTenant(tenantId, (em) => releaseStranded(em, responseId));
  } else if (isOverdue(row)) {
    await unitOfWork.inTenant(tenantId, (em) => closeResponse(em, responseId, { kind: 'deadline' }));
  } else {
    return row.waits;
  }
  return true;
}

function isOverdue(row: StaleRow): boolean {
  const now = row.listed_at.getTime();
  return row.status === 'queued'
    ? !row.waits && now - row.queued_since.getTime() > queueLimitMs
    : row.deadline_at !== null && now - row.deadline_at.getTime() > deadlineGraceMs;
}

function generation({ tenantId, responseId }: { tenantId: string; responseId: string }): Unfinished {
  return {
    tenantId,
    workflowId: workflowIdOf('generateResponse', { tenantId, responseId }),
    giveUp: (em) => closeResponse(em, responseId, { kind: 'failed', code: 'internal_error' }),
    async restart(em) {
      const head = await lockHead(em, responseId);
      // Another round may have enqueued a start meanwhile: a cancel withdraws one pending start, not two.
      return head === null || head.response.isTerminal || (await isPending(em, head.response.workflowId))
        ? null
        : generationStart(head.response);
    },
  };
}
