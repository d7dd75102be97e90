/** Temporal's state of a workflow id. A paused workflow counts as open, because an operator may resume it. */
export type WorkflowState = 'open' | 'closed' | 'unknown_id';

export interface WorkflowInspector {
  stateOf(workflowId: string): Promise<WorkflowState>;
  /**
   * The workflows of a page that Temporal lists as open. The list may lag behind, but never contains an unknown id.
   */
  openAmong(workflowIds: readonly string[]): Promise<ReadonlySet<string>>;
}
