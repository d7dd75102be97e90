/** What the engine knows of a workflow id now. */
export type WorkflowState = 'running' | 'closed' | 'unknown_id';

export interface WorkflowInspector {
  stateOf(workflowId: string): Promise<WorkflowState>;
}
