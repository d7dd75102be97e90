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

type Slice = EraseScopeSlice | Error;

/** Runs the workflow with scripted slices, and for a space or a principal with what its halt still waits for. */
async function run(input: EraseScopeInput, slices: Slice[], awaited: number[] = []) {
  const asked: string[] = [];
  const activities = {
    haltDeletedSpace: async (scope: EraseScopeInput) => {
      expect(scope).toEqual(input);
      asked.push('halt');
      return awaited.shift();
    },
    haltDeletedPrincipal: async (scope: EraseScopeInput) => {
      expect(scope).toEqual(input);
      asked.push('halt the principal');
      return awaited.shift();
    },
    eraseScopeSlice: async (scope: EraseScopeInput) => {
      expect(scope).toEqual(input);
      asked.push('erase');
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
  return worker.runUntil(async () => {
    const handle = await environment.client.workflow.start(eraseScope, {
      taskQueue,
      workflowId: `test/${randomUUID()}`,
      args: [input],
    });
    const result = await handle.result();
    const metadata = await handle.query<{ currentDetails?: string }>('__temporal_workflow_metadata');
    return { result, asked, details: metadata.currentDetails };
  });
}

it('erases slice by slice until nothing is left, and tries a slice again that failed', async () => {
  const scope = { tenantId: 't', rootType: 'collection', rootId: 'c' } as const;
  const { result, asked, details } = await run(scope, [
    { isGone: false, rows: 5 },
    new Error('the database is away'),
    { isGone: false, rows: 0 },
    { isGone: true, rows: 2 },
  ]);
  expect(result).toEqual({ rows: 7 });
  expect(asked).toEqual(['erase', 'erase', 'erase', 'erase']);
  expect(details).toBe('The collection is erased.');
});

it('halts a space until nothing of it is awaited, then erases it', async () => {
  const scope = { tenantId: 't', rootType: 'space', rootId: 's' } as const;
  const { asked, details } = await run(scope, [{ isGone: true, rows: 3 }], [2, 1, 0]);
  expect(asked).toEqual(['halt', 'halt', 'halt', 'erase']);
  expect(details).toBe('The space is erased.');
});

it('halts a principal, and erases a project at once', async () => {
  const person = { tenantId: 't', rootType: 'principal', rootId: 'p' } as const;
  const halted = await run(person, [{ isGone: true, rows: 3 }], [1, 0]);
  expect(halted.asked).toEqual(['halt the principal', 'halt the principal', 'erase']);
  expect(halted.details).toBe('The principal is erased.');
  const project = { tenantId: 't', rootType: 'project', rootId: 'p' } as const;
  expect((await run(project, [{ isGone: true, rows: 3 }])).asked).toEqual(['erase']);
});
