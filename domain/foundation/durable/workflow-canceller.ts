/** Asks Temporal to cancel what no tenant's transaction stands for, so that the outbox cannot carry it. */
export interface WorkflowCanceller {
  /** Of a workflow that does not run, it does nothing. */
  cancel(workflowId: string): Promise<void>;
}
