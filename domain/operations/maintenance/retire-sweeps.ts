import { workflowIdOf } from '#domain/foundation/durable/workflow-types.ts';
import { forgetSweep, listAbandonedSweeps } from './sweep-clock.ts';
import type { Sweep } from './sweep.ts';

/**
 * Ends the actors of sweeps that are in no worker's list any more. While workers of two versions run, each takes the
 * sweeps that it knows, so a sweep is abandoned when nobody has taken it for longer than the longest pace.
 */
export const retireSweeps: Sweep = {
  isDue: async ({ database }) => (await listAbandonedSweeps(database)).length > 0,
  async run({ database, canceller }, round) {
    let done = 0;
    for (const sweep of await listAbandonedSweeps(database)) {
      if (done > 0 && !round.mayGoOn()) {
        break;
      }
      // The row goes last: an actor that could not be cancelled is found again by it.
      await canceller.cancel(workflowIdOf('runSweep', { sweep }));
      await forgetSweep(database, sweep);
      done += 1;
    }
    return { done, failed: 0, next: null };
  },
};
