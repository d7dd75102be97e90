/** What the engine knows of a workflow id now. One that was paused is open: somebody may let it go on. */
export type WorkflowState = 'open' | 'closed' | 'unknown_id';

export interface WorkflowInspector {
  stateOf(workflowId: string): Promise<WorkflowState>;
  /** Those of a page's workflows that the engine lists as open. It may list one late, but none that it never knew. */
  openAmong(workflowIds: readonly string[]): Promise<ReadonlySet<string>>;
}
