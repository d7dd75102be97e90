import { randomUUID } from 'node:crypto';
import { TestWorkflowEnvironment } from '@temporalio/testing';
import { Worker } from '@temporalio/worker';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import type { EraseScopeInput, EraseScopeSlice } from '#workflows/erase-scope/messages.ts';
import { eraseScope } from '#workflows/index.ts';
import { silenceRuntime } from '../replay/quiet.ts';

let environment: TestWorkflowEnvironment;
beforeAll(async () => {
  silenceRuntime();
  const { address, namespace } = inject('temporal');
  environment = await TestWorkflowEnvironment.createFromExistingServer({ address, namespace });
});
afterAll(async () => {
  await environment?.teardown();
});

it('erases slice by slice until nothing is left, and tries a slice again that failed', async () => {
  const input: EraseScopeInput = { tenantId: 't', rootType: 'collection', rootId: 'c' };
  const asked: EraseScopeInput[] = [];
  const slices: (EraseScopeSlice | Error)[] = [
    { isGone: false, rows: 5 },
    new Error('the database is away'),
    { isGone: false, rows: 0 },
    { isGone: true, rows: 2 },
  ];
  const activities = {
    eraseScopeSlice: async (scope: EraseScopeInput) => {
      asked.push(scope);
      const slice = slices.shift()!;
      if (slice instanceof Error) throw slice;
      return slice;
    },
  };
  const taskQueue = `test-${randomUUID()}`;
  const worker = await Worker.create({
    connection: environment.nativeConnection,
    namespace: inject('temporal').namespace,
    taskQueue,
    workflowBundle: { codePath: inject('workflowBundle') },
    activities,
  });
  await worker.runUntil(async () => {
    const handle = await environment.client.workflow.start(eraseScope, {
      taskQueue,
      workflowId: `test/${randomUUID()}`,
      args: [input],
    });
    expect(await handle.result()).toEqual({ rows: 7 });
    const metadata = await handle.query<{ currentDetails?: string }>('__temporal_workflow_metadata');
    expect(metadata.currentDetails).toBe('The collection is erased.');
  });
  expect(asked).toEqual([input, input, input, input]);
});
