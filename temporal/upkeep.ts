import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import type { Logger } from 'pino';
import { releaseSweep, recordSwept, claimDueSweeps } from '#domain/operations/maintenance/sweep-clock.ts';
import type { SweepDependencies } from '#domain/operations/maintenance/sweep.ts';
import {
  sweepNames,
  sweeps,
  type Pace,
  type PlannedSweep,
  type SweepName,
} from '#domain/operations/maintenance/sweeps.ts';
import { signalWithStart } from '#domain/foundation/durable/messages.ts';
import { sendSignal } from './send-message.ts';

/** For PostgreSQL that does not answer, and for clocks that differ by a little. */
const [afterFaultMs, shortestMs, maxMs] = [1_000, 20, 60_000];

export interface UpkeepOptions {
  client: Client;
  deps: SweepDependencies;
  paces: Readonly<Record<Pace, number>>;
  logger: Logger;
}

/**
 * Wakes the actors of sweeps whose time has come and that would find something, for as long as this worker runs. Where
 * nothing is to be done Temporal hears nothing of it. An actor that Temporal lost, or that somebody ended, begins anew.
 */
export function startUpkeep({ client, deps, paces, logger }: UpkeepOptions): { stop: () => Promise<void> } {
  const stopped = new AbortController();
  const everySeconds = Object.fromEntries(sweepNames.map((name) => [name, paces[sweeps[name].pace]]));

  /** @returns false where nothing is to be done */
  const wake = async (name: SweepName): Promise<boolean> => {
    const { sweep, budgetSeconds }: PlannedSweep = sweeps[name];
    if ((await sweep.isDue?.(deps)) === false) {
      return false;
    }
    await sendSignal(client, signalWithStart('runSweep', { sweep: name }, 'wake', [{ budgetSeconds }]), []);
    return true;
  };
  const wakeOrRelease = async (name: SweepName): Promise<boolean> => {
    try {
      return await wake(name);
    } catch (error) {
      logger.warn(
        { sweep: name, error: error instanceof Error ? error.name : 'unknown' },
        'upkeep not woken',
      );
      await releaseSweep(deps.database, name).catch(() => undefined);
      return true;
    }
  };
  const tick = async (): Promise<number> => {
    try {
      const { due, waitSeconds } = await claimDueSweeps(deps.database, everySeconds);
      const names = sweepNames.filter((name) => due.includes(name));
      const busy = await Promise.all(names.map(wakeOrRelease));
      await recordSwept(
        deps.database,
        names.filter((_, n) => busy[n] === false),
      );
      return Math.min(Math.max(waitSeconds * 1_000, shortestMs), maxMs);
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
