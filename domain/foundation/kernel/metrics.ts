/** What is counted, as a port: no label ever names a tenant, a space or a person. */
export interface Metrics {
  modelTurn(turn: { outcome: string; seconds: number }): void;
  toolCall(call: { tool: string; outcome: string }): void;
  /** A result whose structured content is not what its tool announces. */
  toolMisfit(misfit: { problem: 'missing' | 'different' }): void;
  workflowStart(start: { type: string; outcome: 'started' | 'existing' | 'failed' }): void;
  /** `dropped`: its workflow is gone, and the signal may not start one. */
  workflowSignal(signal: { type: string; outcome: 'delivered' | 'dropped' | 'failed' }): void;
}
