import { defineSignal } from '@temporalio/workflow';
import type { Delivered } from '#domain/foundation/durable/messages.ts';
import type { ArgsOf, SignalOf } from '#domain/foundation/durable/workflow-types.ts';
import type { Place, RoundResult } from '#domain/operations/sweep-kinds/round.ts';

export type { RunSweepInput, Wake } from '#domain/foundation/durable/workflow-inputs.ts';

const wake = 'wake' satisfies SignalOf<'runSweep'>;
export const wakeSignal = defineSignal<Delivered<ArgsOf<'runSweep', typeof wake>>>(wake);

export interface RoundInput {
  place: Place | null;
  budgetSeconds: number;
}

/** As the worker registers them: by sweep name. */
export type SweepActivities = Record<string, (input: RoundInput) => Promise<RoundResult>>;
