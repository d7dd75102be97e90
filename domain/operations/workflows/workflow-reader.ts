/** The newest run of a workflow in Temporal. Ids, numbers and fixed words only, as in histories. */
export interface WorkflowDescription {
  runId: string;
  type: string;
  /** In Temporal's words: `RUNNING`, `COMPLETED`, `FAILED`, `CANCELLED`, `TERMINATED`, `TIMED_OUT` … */
  status: string;
  taskQueue: string;
  startedAt: Date;
  closedAt: Date | null;
  historyEvents: number;
  pending: PendingStep[];
}

export const pendingStates = ['scheduled', 'started', 'cancel_requested', 'paused', 'unknown'] as const;

/** An activity that runs, or waits for a worker or for its next attempt. */
export interface PendingStep {
  activity: string;
  state: (typeof pendingStates)[number];
  attempt: number;
  /** Why the previous attempt failed. */
  lastFailure: string | null;
  nextAttemptAt: Date | null;
}

/** The port to workflow descriptions and histories, for operators. */
export interface WorkflowReader {
  /** null: the engine does not know the id, or no longer. @throws `engine_unavailable` */
  describe(workflowId: string): Promise<WorkflowDescription | null>;
  /**
   * The newest run's history in the JSON form of Temporal's own tools, in parts of some MiB.
   * @param from where the part before ended; null: the beginning
   * @returns at least one event; null: the engine does not know the id or the run, or no longer
   * @throws `engine_unavailable`
   */
  historyOf(workflowId: string, from: HistoryPlace | null): Promise<HistoryPart | null>;
}

export interface HistoryPlace {
  runId: string;
  /** The number of the last event before. */
  afterEvent: number;
}

export interface HistoryPart {
  events: unknown[];
  /** Where the next part begins; null: this is the last. */
  next: HistoryPlace | null;
}
