import type { SweepDependencies } from '#domain/operations/sweep-kinds/sweep.ts';
import { sweeps, type PlannedSweep } from '#domain/operations/maintenance/sweeps.ts';
import type { SweepActivities } from '#workflows/run-sweep/messages.ts';
import { runRound } from './run-round.ts';

/** One activity for each sweep, under the sweep's name. */
export function createMaintenanceActivities(deps: SweepDependencies): SweepActivities {
  return Object.fromEntries(
    Object.entries<PlannedSweep>(sweeps).map(([name, { sweep }]) => [
      name,
      (input) => runRound(deps, { name, sweep }, input),
    ]),
  );
}
