/** Life cycle of a response. A lost worker is no transition: the response stays `in_progress`. */
export const responseStatuses = [
  'queued',
  'in_progress',
  'completed',
  'incomplete',
  'failed',
  'cancelled',
] as const;
export type ResponseStatus = (typeof responseStatuses)[number];

const transitions: Readonly<Record<ResponseStatus, readonly ResponseStatus[]>> = {
  queued: ['in_progress', 'failed', 'cancelled'],
  in_progress: ['completed', 'incomplete', 'failed', 'cancelled'],
  completed: [],
  incomplete: [],
  failed: [],
  cancelled: [],
};

/** How long a response waits for a worker before it fails. */
export const queueLimitMs = 3_600_000;

export type TerminalStatus = Exclude<ResponseStatus, 'queued' | 'in_progress'>;

export function isTerminal(status: ResponseStatus): status is TerminalStatus {
  return transitions[status].length === 0;
}

export function canBecome(from: ResponseStatus, to: ResponseStatus): boolean {
  return transitions[from].includes(to);
}

export const incompleteReasons = [
  'max_output_tokens',
  'max_tool_calls',
  'max_iterations',
  'max_cost',
  'deadline_exceeded',
  'content_filter',
] as const;
export type IncompleteReason = (typeof incompleteReasons)[number];

export const failureCodes = [
  'model_error',
  'model_timeout',
  'rate_limited',
  'context_length_exceeded',
  'tools_unavailable',
  'tool_outcome_unknown',
  'policy_blocked',
  'permission_revoked',
  'generation_lost',
  'engine_unavailable',
  'internal_error',
] as const;
export type FailureCode = (typeof failureCodes)[number];

/** Why a response failed, as clients see it. Fixed text: never a vendor's words, a prompt or a host. */
export interface FailureReason {
  code: FailureCode;
  type: 'server_error' | 'invalid_request_error' | 'permission_error' | 'rate_limit_error';
  message: string;
  param: string | null;
}
