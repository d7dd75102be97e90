import { Context } from '@temporalio/activity';
import type { Place, RoundResult } from '#domain/operations/sweep-kinds/round.ts';
import { recordSwept } from '#domain/operations/maintenance/sweep-clock.ts';
import type { Sweep, SweepDependencies } from '#domain/operations/sweep-kinds/sweep.ts';
import type { RoundInput } from '#workflows/run-sweep/messages.ts';

const beatEveryMs = 1_000;

/**
 * One round of a sweep. Heartbeat details hold its position, from which the attempt after a crash continues. It stops
 * between two batches when its time is up, when it is cancelled or timed out, and when its worker shuts down:
 * attempts never overlap.
 */
export async function runRound(
  deps: SweepDependencies,
  { name, sweep }: { name: string; sweep: Sweep },
  { place: begin, budgetSeconds }: RoundInput,
): Promise<RoundResult> {
  const context = Context.current();
  const { cancellationSignal, info } = context;
  const endsAt = performance.now() + budgetSeconds * 1_000;
  let place = placeOf(info.heartbeatDetails) ?? begin;
  const beat = () => context.heartbeat({ place });
  const timer = setInterval(beat, beatEveryMs);
  beat();
  try {
    cancellationSignal.throwIfAborted();
    const result = await sweep.run(deps, {
      place,
      mayGoOn: () => performance.now() < endsAt && !cancellationSignal.aborted,
      reached: (at) => {
        place = at;
      },
    });
    if (result.failed === 0) {
      await recordSwept(deps.database, [name]);
    }
    return result;
  } finally {
    clearInterval(timer);
  }
}

function placeOf(details: unknown): Place | null {
  return typeof details === 'object' && details !== null ? (details as { place: Place | null }).place : null;
}
