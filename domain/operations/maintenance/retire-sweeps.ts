import { workflowIdOf } from '#domain/foundation/durable/workflow-types.ts';
import { forgetSweep, listAbandonedSweeps } from './sweep-clock.ts';
import type { Sweep } from '#domain/operations/sweep-kinds/sweep.ts';

/**
 * Ends the actors of sweeps that no worker lists any more. While workers of two versions run, each claims the sweeps
 * that it knows, so a sweep is abandoned when no worker has claimed it for longer than the longest pace.
 */
export const retireSweeps: Sweep = {
  isDue: async ({ database }) => (await listAbandonedSweeps(database)).length > 0,
  async run({ database, canceller }, round) {
    let done = 0;
    for (const sweep of await listAbandonedSweeps(database)) {
      if (done > 0 && !round.mayGoOn()) {
        break;
      }
      // The row is deleted last, so that an actor that could not be cancelled is found again.
      await canceller.cancel(workflowIdOf('runSweep', { sweep }));
      await forgetSweep(database, sweep);
      done += 1;
    }
    return { done, failed: 0, next: null };
  },
};
