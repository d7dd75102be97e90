import { Connection, WorkflowClient } from '@temporalio/client';
import { NativeConnection, Worker, type WorkerOptions } from '@temporalio/worker';
import { inject } from 'vitest';
import { newId } from '#domain/foundation/kernel/ids.ts';
import { silenceRuntime } from '../replay/quiet.ts';

/** A worker in this process on a queue of its own, and a client of the same server. */
export interface WorkflowWorker {
  client: WorkflowClient;
  taskQueue: string;
  stop(): Promise<void>;
}

export async function startWorkflowWorker(
  activities: NonNullable<WorkerOptions['activities']>,
  options: Partial<WorkerOptions> = {},
): Promise<WorkflowWorker> {
  const { address, namespace } = inject('temporal');
  silenceRuntime();
  const taskQueue = `test-${newId()}`;
  const connection = await Connection.connect({ address });
  const native = await NativeConnection.connect({ address });
  const worker = await Worker.create({
    connection: native,
    taskQueue,
    workflowBundle: { codePath: inject('workflowBundle') },
    activities,
    ...options,
  });
  const running = worker.run();
  return {
    client: new WorkflowClient({ connection, namespace }),
    taskQueue,
    stop: async () => {
      worker.shutdown();
      await running;
      await native.close();
      await connection.close();
    },
  };
}
