import { defineSignal } from '@temporalio/workflow';
import type { Place, RoundResult } from '#domain/operations/maintenance/round.ts';

/** Names and numbers only. */
export interface RunSweepInput {
  /** The activity that does a round. */
  sweep: string;
  /** For an actor that goes on in a new run: where the next round begins, and whether it is due. */
  place?: Place | null;
  due?: Wake | null;
}

/** A round is due. */
export interface Wake {
  budgetSeconds: number;
}

export const wakeSignal = defineSignal<[Wake]>('wake');

export interface RoundInput {
  place: Place | null;
  budgetSeconds: number;
}

/** As the worker registers them: each under its sweep's name. */
export type SweepActivities = Record<string, (input: RoundInput) => Promise<RoundResult>>;
