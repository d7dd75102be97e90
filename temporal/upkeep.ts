import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import type { Logger } from 'pino';
import { releaseSweep, recordSwept, claimDueSweeps } from '#domain/operations/maintenance/sweep-clock.ts';
import type { SweepDependencies } from '#domain/operations/sweep-kinds/sweep.ts';
import {
  sweepNames,
  sweeps,
  type Pace,
  type PlannedSweep,
  type SweepName,
} from '#domain/operations/maintenance/sweeps.ts';
import { signalWithStart } from '#domain/foundation/durable/messages.ts';
import { sendSignal } from './send-message.ts';

/** Allows for PostgreSQL that does not answer, and for small clock differences. */
const [afterFaultMs, minMs, maxMs] = [1_000, 20, 60_000];

export interface UpkeepOptions {
  client: Client;
  deps: SweepDependencies;
  paces: Readonly<Record<Pace, number>>;
  logger: Logger;
}

/**
 * Wakes the actors of due sweeps that have work, while this worker runs. A sweep without work sends nothing to
 * Temporal. An actor that Temporal lost, or that an operator ended, is started again.
 */
export function startUpkeep({ client, deps, paces, logger }: UpkeepOptions): { stop: () => Promise<void> } {
  const stopped = new AbortController();
  const everySeconds = Object.fromEntries(sweepNames.map((name) => [name, paces[sweeps[name].pace]]));

  /** @returns false where the sweep has no work */
  const wake = async (name: SweepName): Promise<boolean> => {
    const { sweep, budgetSeconds }: PlannedSweep = sweeps[name];
    if ((await sweep.isDue?.(deps)) === false) {
      return false;
    }
    await sendSignal(client, signalWithStart('runSweep', { sweep: name }, 'wake', [{ budgetSeconds }]), []);
    return true;
  };
  const wakeOrRelease = async (name: SweepName, failed: Map<SweepName, unknown>): Promise<boolean> => {
    try {
      return await wake(name);
    } catch (error) {
      failed.set(name, error);
      await releaseSweep(deps.database, name).catch(() => undefined);
      return true;
    }
  };
  /** One line: what is away is away for all of them. */
  const warnOf = (failed: ReadonlyMap<SweepName, unknown>): void => {
    if (failed.size > 0) {
      const errors = [...failed.values()].map((error) => (error instanceof Error ? error.name : 'unknown'));
      logger.warn({ sweeps: [...failed.keys()], error: [...new Set(errors)].join() }, 'upkeep not woken');
    }
  };
  const tick = async (): Promise<number> => {
    try {
      const { due, waitSeconds } = await claimDueSweeps(deps.database, everySeconds);
      const names = sweepNames.filter((name) => due.includes(name));
      const failed = new Map<SweepName, unknown>();
      const busy = await Promise.all(names.map((name) => wakeOrRelease(name, failed)));
      warnOf(failed);
      await recordSwept(
        deps.database,
        names.filter((_, n) => busy[n] === false),
      );
      return Math.min(Math.max(waitSeconds * 1_000, minMs), maxMs);
    } catch (error) {
      logger.warn({ error: error instanceof Error ? error.name : 'unknown' }, 'no sweep taken');
      return afterFaultMs;
    }
  };
  const run = async () => {
    while (!stopped.signal.aborted) {
      await sleep(await tick(), undefined, { signal: stopped.signal }).catch(() => undefined);
    }
  };
  const running = run();
  return {
    stop: async () => {
      stopped.abort();
      await running;
    },
  };
}
