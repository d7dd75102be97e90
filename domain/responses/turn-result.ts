/** What a committed turn asks of the workflow. Ids, counts and tool names only. */
export interface TurnResult {
  next: 'done' | 'tools';
  calls: PlannedCall[];
}

export interface PlannedCall {
  index: number;
  /** Shown in Temporal UI. */
  summary: string;
  retryClass: 'repeatable' | 'once';
}
