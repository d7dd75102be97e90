import type { Client } from '@temporalio/client';
import { percentile } from '../../bench/support/stats.ts';

/** What a response waits for, in this order, from its request to its first piece of text. */
export const stages = [
  // Gateway and PostgreSQL accept the request, and Temporal the start of its workflow.
  'request to started workflow',
  // The workflow task waits for a worker, …
  'to workflow task',
  // … and runs.
  'to scheduled turn',
  'to turn',
  // The worker claims the turn and makes the prompt.
  'to model',
  // The model answers; the worker stores, the gateway sends.
  'model to first text',
] as const;
export type Stage = (typeof stages)[number];

/** Moments of one response, in milliseconds since the epoch. */
export interface Moments {
  workflowId: string;
  sentAt: number;
  /** When its model was asked. */
  modelAt: number;
  firstTextAt: number;
}

const [started, taskStarted, turnScheduled, turnStarted] = [1, 6, 10, 11];

/** Milliseconds of each stage, by the history of the workflow. */
export async function stagesOf(temporal: Client, moments: Moments): Promise<Record<Stage, number>> {
  const { events } = await temporal.workflow.getHandle(moments.workflowId).fetchHistory();
  const first = (type: number | undefined) => {
    const time = events?.find(({ eventType }) => Number(eventType) === type)?.eventTime;
    return Number(time?.seconds ?? Number.NaN) * 1_000 + (time?.nanos ?? 0) / 1e6;
  };
  const times = [
    moments.sentAt,
    ...[started, taskStarted, turnScheduled, turnStarted].map(first),
    moments.modelAt,
    moments.firstTextAt,
  ];
  return Object.fromEntries(
    stages.map((stage, at) => [stage, times[at + 1]! - times[at]!] as const),
  ) as Record<Stage, number>;
}

/** A line for each stage: p50 and p95 of both samples. */
export function compare(
  alone: readonly Record<Stage, number>[],
  beside: readonly Record<Stage, number>[],
): string {
  const at = (sample: readonly Record<Stage, number>[], stage: Stage, share: number) =>
    percentile(sample.map((each) => each[stage]).filter(Number.isFinite), share).toFixed(1);
  return stages
    .map(
      (stage) =>
        `  ${stage}: p50 ${at(alone, stage, 0.5)} → ${at(beside, stage, 0.5)} ms, p95 ${at(alone, stage, 0.95)} → ${at(beside, stage, 0.95)} ms`,
    )
    .join('\n');
}
