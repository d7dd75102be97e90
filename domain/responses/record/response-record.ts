import { traceIdOf } from './trace-ids.ts';
import { formatUsd } from '#domain/capabilities/models/pricing.ts';
import type { OutputItem } from './output-items.ts';
import type { Governance } from './response-request.ts';
import type { FailureReason, ResponseStatus } from './response-status.ts';

/** The contract's Response. It is part of stream events too, hence in the domain and not in `api/present`. */
export interface ResponseRecord {
  id: string;
  object: 'response';
  status: ResponseStatus;
  created_at: string;
  finished_at: string | null;
  expires_at: string;
  space_id: string;
  model: string;
  model_alias: string;
  previous_response_id: string | null;
  output: OutputItem[];
  usage: UsageRecord;
  platform: {
    tracing_trace_id: string | null;
    governance_applied: Governance;
    iteration_count: number;
    failure_reason: FailureReason | null;
    incomplete_reason: string | null;
    attempts: number;
    tool_call_count: number;
    cancelled_by: string | null;
    metadata: Record<string, string> | null;
    /** Absent without a thread. */
    thread_id?: string;
    branch_id?: string;
  };
}

export interface UsageRecord {
  input_tokens: number;
  /** Input tokens from the vendor's cache; absent in records of an earlier version. */
  cached_input_tokens?: number;
  output_tokens: number;
  reasoning_tokens: number;
  cost_usd: string;
}

/** The ledger's sum as the database returns it. */
export interface UsageSum {
  input_tokens: number;
  cached_input_tokens: number;
  output_tokens: number;
  reasoning_tokens: number;
  cost_pico_usd: string;
}

export const noUsage: UsageSum = {
  input_tokens: 0,
  cached_input_tokens: 0,
  output_tokens: 0,
  reasoning_tokens: 0,
  cost_pico_usd: '0',
};

/** The columns of the head row that a record shows; times are ISO 8601 in UTC with milliseconds. */
export interface ResponseHead {
  id: string;
  status: ResponseStatus;
  created_at: string;
  finished_at: string | null;
  expires_at: string;
  space_id: string;
  model: string;
  model_alias: string;
  previous_response_id: string | null;
  governance: Governance;
  iteration_count: number;
  failure: FailureReason | null;
  incomplete_reason: string | null;
  attempts: number;
  tool_call_count: number;
  cancelled_by: string | null;
  metadata: Record<string, string> | null;
  thread_id?: string | null;
  branch_id?: string | null;
}

export function toResponseRecord(head: ResponseHead, output: OutputItem[], usage: UsageSum): ResponseRecord {
  return {
    id: head.id,
    object: 'response',
    status: head.status,
    created_at: head.created_at,
    finished_at: head.finished_at,
    expires_at: head.expires_at,
    space_id: head.space_id,
    model: head.model,
    model_alias: head.model_alias,
    previous_response_id: head.previous_response_id,
    output,
    usage: {
      input_tokens: usage.input_tokens,
      cached_input_tokens: usage.cached_input_tokens,
      output_tokens: usage.output_tokens,
      reasoning_tokens: usage.reasoning_tokens,
      cost_usd: formatUsd(BigInt(usage.cost_pico_usd)),
    },
    platform: {
      tracing_trace_id: head.governance.traced === true ? traceIdOf(head.id) : null,
      governance_applied: head.governance,
      iteration_count: head.iteration_count,
      failure_reason: head.failure,
      incomplete_reason: head.incomplete_reason,
      attempts: head.attempts,
      tool_call_count: head.tool_call_count,
      cancelled_by: head.cancelled_by,
      metadata: head.metadata,
      ...(head.thread_id == null ? {} : { thread_id: head.thread_id }),
      ...(head.branch_id == null ? {} : { branch_id: head.branch_id }),
    },
  };
}
