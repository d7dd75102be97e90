import { setTimeout as sleep } from 'node:timers/promises';
import { NativeConnection, Worker, type WorkerOptions } from '@temporalio/worker';
import { recoveryOptions } from './worker-options.ts';

const connectWithinMs = 5_000;

export interface GroupOptions extends Pick<WorkerOptions, 'workflowBundle' | 'interceptors'> {
  address: string;
  namespace: string;
  /** Settings of each queue. */
  queues: readonly (Pick<
    WorkerOptions,
    'taskQueue' | 'activities' | 'maxConcurrentActivityTaskExecutions' | 'maxConcurrentWorkflowTaskExecutions'
  > & {
    /** The queue has no workflows: none are polled for. */
    activitiesOnly?: true;
  })[];
}

/** The workers of all queues, over one connection. */
export interface WorkerGroup {
  /** Resolves when all have stopped. @throws when one of them failed */
  readonly ended: Promise<void>;
  answers(withinMs: number): Promise<boolean>;
  /** Stops polling, and returns running work to the queue. */
  stop(): Promise<void>;
}

/** @throws when Temporal does not answer in time */
export async function startGroup({
  address,
  namespace,
  queues,
  workflowBundle,
  ...options
}: GroupOptions): Promise<WorkerGroup> {
  const connection = await connect(address);
  try {
    const shared = { ...options, ...recoveryOptions, connection, namespace };
    const workers = await Promise.all(
      queues.map(({ activitiesOnly = false, ...queue }) =>
        Worker.create({
          ...shared,
          ...(activitiesOnly || workflowBundle === undefined ? {} : { workflowBundle }),
          ...queue,
        }),
      ),
    );
    const ended = runAll(workers, connection);
    ended.catch(() => undefined);
    return {
      ended,
      answers: (withinMs) => answers(connection, withinMs),
      stop: async () => {
        shutDown(workers);
        await ended.catch(() => undefined);
      },
    };
  } catch (error) {
    await close(connection);
    throw error;
  }
}

/** The failure of a worker stops the others. */
async function runAll(workers: readonly Worker[], connection: NativeConnection): Promise<void> {
  const running = workers.map(async (worker) => {
    try {
      await worker.run();
    } finally {
      shutDown(workers);
    }
  });
  await Promise.allSettled(running);
  await close(connection);
  await Promise.all(running);
}

function shutDown(workers: readonly Worker[]): void {
  workers.filter((worker) => worker.getState() === 'RUNNING').forEach((worker) => worker.shutdown());
}

/** Adds a timeout: the SDK's own attempt has none. */
export async function connect(address: string): Promise<NativeConnection> {
  const connecting = NativeConnection.connect({ address });
  const late = sleep(connectWithinMs, null, { ref: false });
  const connection = await Promise.race([connecting, late]);
  if (connection === null) {
    void connecting.then(close, () => undefined);
    throw new Error('Temporal did not answer in time.');
  }
  return connection;
}

/** Whether the server answers over this connection. */
export async function answers(connection: NativeConnection, withinMs: number): Promise<boolean> {
  const asked = connection
    .withDeadline(Date.now() + withinMs, () => connection.workflowService.getSystemInfo({}))
    .then(
      () => true,
      () => false,
    );
  return Promise.race([asked, sleep(withinMs + 250, false, { ref: false })]);
}

/** A worker that had to be aborted holds the connection until the process ends. */
export async function close(connection: NativeConnection): Promise<void> {
  await connection.close().catch(() => undefined);
}
