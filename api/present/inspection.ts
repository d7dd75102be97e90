import type { z } from 'zod';
import type * as wire from '#api/contract/administration.ts';
import { formatUsd } from '#domain/capabilities/models/pricing.ts';
import type { InspectedResponse, InspectedTurn } from '#domain/responses/read/inspect-response.ts';
import type { FoundWorkflow } from '#domain/operations/workflows/find-workflow.ts';
import type { WorkflowDescription } from '#domain/operations/workflows/workflow-reader.ts';

const iso = (time: Date | null | undefined): string | null => time?.toISOString() ?? null;

type Inspected = z.infer<typeof wire.inspectedResponse>['data'];

export function presentInspection(inspected: InspectedResponse): Inspected {
  return {
    response: inspected.record,
    workflow_id: inspected.workflowId,
    principal_id: inspected.principalId,
    deadline_at: iso(inspected.deadlineAt),
    turns: inspected.turns.map(presentTurn),
  };
}

function presentTurn({ turn, attempts, calls, usage }: InspectedTurn): Inspected['turns'][number] {
  return {
    iteration: turn.iteration,
    status: turn.status,
    started_at: turn.createdAt.toISOString(),
    committed_at: iso(turn.committedAt),
    attempts: attempts.map((attempt) => ({
      attempt: attempt.attempt,
      epoch: attempt.epoch,
      outcome: attempt.outcome,
      failure_code: attempt.failureCode ?? null,
      continuation: attempt.continuation ?? null,
      prefix_length: attempt.prefixLength,
      started_at: attempt.startedAt.toISOString(),
      ended_at: iso(attempt.endedAt),
    })),
    calls: calls.map((call) => ({
      call_id: call.callId,
      tool: call.tool,
      status: call.status,
      outcome: call.outcome ?? null,
      started_at: iso(call.startedAt),
      done_at: iso(call.doneAt),
    })),
    usage: usage.map((entry) => ({
      attempt: entry.attempt,
      kind: entry.kind,
      input_tokens: entry.inputTokens,
      cached_input_tokens: entry.cachedInputTokens,
      output_tokens: entry.outputTokens,
      reasoning_tokens: entry.reasoningTokens,
      cost_usd: formatUsd(BigInt(entry.costPicoUsd)),
      settled: entry.settled,
      estimated: entry.estimated,
    })),
  };
}

export function presentWorkflow(
  found: FoundWorkflow,
  run: WorkflowDescription | null,
): z.infer<typeof wire.workflowRecord>['data'] {
  return {
    workflow_id: found.workflowId,
    tenant_id: found.tenantId,
    resource: {
      type: found.kind,
      id: found.resourceId,
      status: found.resourceStatus,
      failure_code: found.failureCode,
    },
    run: run && {
      run_id: run.runId,
      type: run.type,
      status: run.status,
      task_queue: run.taskQueue,
      started_at: run.startedAt.toISOString(),
      closed_at: iso(run.closedAt),
      history_events: run.historyEvents,
      pending: run.pending.map((step) => ({
        activity: step.activity,
        state: step.state,
        attempt: step.attempt,
        last_failure: step.lastFailure,
        next_attempt_at: iso(step.nextAttemptAt),
      })),
    },
  };
}
