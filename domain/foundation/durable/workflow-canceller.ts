/** Asks Temporal to cancel workflows that no tenant's transaction concerns, which the outbox cannot carry. */
export interface WorkflowCanceller {
  /** Does nothing if the workflow is not running. */
  cancel(workflowId: string): Promise<void>;
}
