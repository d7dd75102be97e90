import { isPending } from '#domain/foundation/durable/outbox.ts';
import { workflowIdOf } from '#domain/foundation/durable/workflow-types.ts';
import { closeResponse } from '#domain/responses/end/close-response.ts';
import { lockHead } from '#domain/responses/store/head.ts';
import { generationStart } from '#domain/responses/store/generation-start.ts';
import { releaseStranded } from '#domain/responses/end/release-stranded.ts';
import { queueLimitMs } from '#domain/responses/record/response-status.ts';
import { reconciling, type Unfinished } from './reconcile.ts';
import type { SweepDependencies } from './sweep.ts';

/** A deadline that its workflow has not enforced by then is enforced from here. */
const deadlineGraceMs = 60_000;

interface StaleRow {
  tenant_id: string;
  response_id: string;
  status: 'queued' | 'in_progress';
  created_at: string;
  queued_since: Date;
  deadline_at: Date | null;
  /** Its content is out of everybody's reach. */
  expired: boolean;
  /** Another's end will start it. */
  waits: boolean;
  /** That end has been, and did not. */
  stranded: boolean;
  /** When it was listed, by the database's clock. */
  listed_at: Date;
}

/**
 * Compares running responses with the engine, so that nothing stays non-terminal: a workflow that was
 * terminated fails its response, an id that the engine has lost is started again and goes on from its prefix. One
 * whose retention is over is ended, and one that waits for nothing any more begins.
 */
export const reconcileResponses = reconciling<StaleRow>({
  listFunction: 'list_stale',
  start: ['-infinity', ''],
  placeOf: (row) => [row.created_at, row.response_id],
  resolve,
  unfinished: (row) => generation({ tenantId: row.tenant_id, responseId: row.response_id }),
});

/** @returns false for one that its workflow should be seeing to */
async function resolve({ unitOfWork }: SweepDependencies, row: StaleRow): Promise<boolean> {
  const { tenant_id: tenantId, response_id: responseId } = row;
  if (row.expired) {
    await unitOfWork.inTenant(tenantId, generation({ tenantId, responseId }).giveUp);
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
      // Enqueued by another round meanwhile: a cancel takes one start back, not two.
      return head === null || head.response.isTerminal || (await isPending(em, head.response.workflowId))
        ? null
        : generationStart(head.response);
    },
  };
}
