import type { ResponseEnd } from './response-end.ts';

/** What the workflow does after a committed turn. Ids, counts and tool names only. */
export interface TurnResult {
  next: 'done' | 'tools';
  calls: PlannedCall[];
  /** With `done`. Results of earlier versions lack it. */
  end?: ResponseEnd;
}

export interface PlannedCall {
  index: number;
  /** Shown in Temporal UI. */
  summary: string;
  retryClass: 'repeatable' | 'once';
}
