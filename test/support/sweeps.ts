import type { Dispatch } from '#domain/foundation/durable/messages.ts';
import type { WorkflowInspector, WorkflowState } from '#domain/foundation/durable/workflow-inspector.ts';
import type { Round, RoundResult } from '#domain/operations/sweep-kinds/round.ts';
import type { Sweep, SweepDependencies } from '#domain/operations/sweep-kinds/sweep.ts';

/** A round with enough time, unless `mayGoOn` limits it. */
export function roundOf({ place = null, mayGoOn = () => true }: Partial<Round> = {}): Round & {
  places: Round['place'][];
} {
  const places: Round['place'][] = [];
  return { place, mayGoOn, reached: (at) => places.push(at), places };
}

/** A Temporal that gives the same answer for every workflow. */
export function inspectorSaying(state: WorkflowState): WorkflowInspector {
  return {
    stateOf: () => Promise.resolve(state),
    openAmong: (ids) => Promise.resolve(new Set(state === 'open' ? ids : [])),
  };
}

/** One whole round. `starts` are those that the process sends to Temporal after their commits. */
export async function sweepOnce(
  sweep: Sweep,
  deps: Partial<SweepDependencies> & { dispatches?: Dispatch[] },
): Promise<RoundResult & { starts: Dispatch[] }> {
  const before = deps.dispatches?.length;
  const result = await sweep.run(deps as SweepDependencies, roundOf());
  return { ...result, starts: deps.dispatches?.slice(before) ?? [] };
}
