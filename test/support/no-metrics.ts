import type { Metrics } from '#domain/foundation/kernel/metrics.ts';

/** Counts nothing. */
export const noMetrics: Metrics = {
  modelTurn: () => undefined,
  toolCall: () => undefined,
  toolMisfit: () => undefined,
  workflowStart: () => undefined,
  workflowSignal: () => undefined,
};
