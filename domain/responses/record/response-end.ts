import type { Caller } from '#domain/foundation/access/caller.ts';
import type { Response } from './response.entity.ts';
import type { FailureReason, IncompleteReason, TerminalStatus } from './response-status.ts';

/** How a response ends. */
export type Ending =
  | { status: 'completed' }
  | { status: 'incomplete'; reason: IncompleteReason }
  | { status: 'failed'; failure: FailureReason }
  | { status: 'cancelled'; by: Caller | null };

/** How a response ended, in codes alone, as Temporal shows it. */
export interface ResponseEnd {
  /** `gone`: deleted or expired. */
  status: TerminalStatus | 'gone';
  reason: string | null;
}

export function endOf(ending: Ending): ResponseEnd {
  switch (ending.status) {
    case 'failed':
      return { status: 'failed', reason: ending.failure.code };
    case 'incomplete':
      return { status: 'incomplete', reason: ending.reason };
    case 'completed':
    case 'cancelled':
      return { status: ending.status, reason: null };
  }
}

/** The end of a response that has ended. */
export function endOfEnded(
  response: Pick<Response, 'status' | 'failure' | 'incompleteReason'> | null,
): ResponseEnd {
  return response === null
    ? { status: 'gone', reason: null }
    : {
        status: response.status as TerminalStatus,
        reason: response.failure?.code ?? response.incompleteReason ?? null,
      };
}
