import { expect, it } from 'vitest';
import { newId } from '#domain/foundation/kernel/ids.ts';
import { syncConnector } from '#workflows/index.ts';
import { startWorkflowWorker } from '#test/support/workflow-worker.ts';

/** Slices of a listing that takes longer than a history may become, and of its deletions. */
const slices = { pages: 600, deletions: 500 };

it('a long run goes on in further executions, each with a short history', async () => {
  const left = { ...slices };
  const worker = await startWorkflowWorker({
    checkSource: async () => {},
    fetchPages: async () => {
      left.pages = Math.max(0, left.pages - 1);
      return { state: left.pages > 0 ? 'more' : 'listed', recordsFetched: slices.pages - left.pages };
    },
    detectDeletions: async () => {
      left.deletions -= 1;
      return { state: left.deletions > 0 ? 'more' : 'done' };
    },
    finishSync: async ({ end }: { end: string }) => ({ status: 'completed', reason: end }),
  });
  try {
    const handle = await worker.client.start(syncConnector, {
      taskQueue: worker.taskQueue,
      workflowId: `test/${newId()}`,
      args: [{ tenantId: newId(), connectorId: newId(), runId: newId() }],
    });
    expect(await handle.result()).toEqual({ status: 'completed', reason: 'done' });
    expect(left).toEqual({ pages: 0, deletions: 0 });
    for (const runId of [handle.firstExecutionRunId, undefined]) {
      const { status, historyLength } = await worker.client.getHandle(handle.workflowId, runId).describe();
      expect(status.name).toBe(runId === undefined ? 'COMPLETED' : 'CONTINUED_AS_NEW');
      expect(historyLength).toBeLessThan(2_100);
    }
  } finally {
    await worker.stop();
  }
});
