import { availableParallelism } from 'node:os';
import { ChildPool, type ChildPoolLimits } from '../process/child-pool.ts';
import type { ChildTask } from '../process/child-task.ts';
import type { VectorAnswers, VectorRequest } from './vector-requests.ts';

/** Each has the model in memory once it has embedded a passage, and one processor is left to others. */
const processes = Math.min(3, Math.max(1, availableParallelism() - 1));
/** A process has the next passage already when it has embedded one: an event loop with other work may be late. */
const tasksPerProcess = 2;
/** Passages of one call that are embedded at once, or wait in a process. */
export const passagesAtOnce = processes * tasksPerProcess;

/** In a session of their own: a nice value alone would leave them as much as PostgreSQL and Temporal have. */
const limits: ChildPoolLimits = {
  /** A request takes tens of milliseconds; what hangs in native code is killed before the waiting ones give up. */
  timeoutMs: 20_000,
  heapMb: 96,
  residentMb: 1_024,
  idleMs: 60_000,
  finishesTasks: true,
  processes,
  processesPerKey: processes,
  tasksPerProcess,
  waitersPerKey: 200,
  waitMs: 60_000,
};

/**
 * Processes that embed passages with the builtin model, and find the lists of vectors: work for processors, for whose
 * answer nobody waits.
 */
export interface VectorProcesses {
  /** Runs one request at the tenant's turn. @throws `TooBusy`, `ChildLimitExceeded`, `ChildLost`, the signal's reason */
  run<Kind extends VectorRequest['kind']>(
    tenantId: string,
    make: () => Extract<VectorRequest, { kind: Kind }>,
    signal: AbortSignal,
  ): Promise<VectorAnswers[Kind]>;
}

/** The first request starts a process. */
export function createVectorProcesses(): VectorProcesses {
  const pool = new ChildPool(new URL('./vector-process.ts', import.meta.url), limits);
  return {
    run<Kind extends VectorRequest['kind']>(
      ...[tenantId, make, signal]: Parameters<VectorProcesses['run']>
    ): Promise<VectorAnswers[Kind]> {
      return pool.run(tenantId, () => Promise.resolve(taskOf<VectorAnswers[Kind]>(make())), signal);
    },
  };
}

function taskOf<Answer>(request: VectorRequest): ChildTask<Answer, Answer> {
  return { request, bytes: new Uint8Array(), receive: (result) => ({ result }) };
}
