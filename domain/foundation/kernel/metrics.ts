/** The port to counters: no label ever names a tenant, a space or a person. */
export interface Metrics {
  modelTurn(turn: { outcome: string; seconds: number }): void;
  toolCall(call: { tool: string; outcome: string }): void;
  /** A result whose structured content does not match its tool's output schema. */
  toolMisfit(misfit: { problem: 'missing' | 'different' }): void;
  workflowStart(start: { type: string; outcome: 'started' | 'existing' | 'failed' }): void;
  /** `dropped`: the workflow is closed, and the signal may not start one. */
  workflowSignal(signal: { type: string; outcome: 'delivered' | 'dropped' | 'failed' }): void;
}
