import { randomUUID } from 'node:crypto';
import { ApplicationFailure } from '@temporalio/common';
import { TestWorkflowEnvironment } from '@temporalio/testing';
import { Worker } from '@temporalio/worker';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import type { DeletionStage } from '#domain/operations/tenant-deletion/next-stage.ts';
import type {
  DeleteTenantInput,
  EraseInput,
  FaultInput,
  StopInput,
} from '#workflows/delete-tenant/messages.ts';
import { deleteTenant } from '#workflows/index.ts';
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

interface Script {
  stages?: DeletionStage[];
  open?: number[];
  verdicts?: boolean[];
  /** Called at each attempt of the revocation. */
  revoke?: () => Promise<void>;
  during?: (handle: { signal(name: string): Promise<void> }, asked: string[]) => Promise<void>;
}

async function run(script: Script) {
  const asked: string[] = [];
  const stages = [...(script.stages ?? [{ is: 'deleting' as const }])];
  const open = [...(script.open ?? [0])];
  const verdicts = [...(script.verdicts ?? [true])];
  const note = (name: string) => {
    asked.push(name);
  };
  const activities = {
    haltTenant: async () => note('halt'),
    nextDeletionStage: async ({ deletionId }: DeleteTenantInput) => {
      note(deletionId === 'd' ? 'stage' : `stage of ${deletionId}`);
      return stages.length > 1 ? stages.shift() : stages[0];
    },
    stopTenantWork: async ({ force }: StopInput) => {
      note(force ? 'force' : 'stop');
      return { open: open.length > 1 ? open.shift() : open[0], pending: 0 };
    },
    revokeExternal: async () => {
      note('revoke');
      await script.revoke?.();
    },
    takeStock: async () => note('count'),
    destroyTenantKeys: async () => note('keys'),
    eraseTenantRows: async ({ from }: EraseInput) => {
      note(`erase ${from?.step ?? ''}`.trim());
      return { next: from === null ? { step: 'b', cursor: null } : null, rows: 7 };
    },
    deleteHistories: async () => note('histories'),
    verifyDeletion: async () => {
      note('verify');
      const clean = verdicts.length > 1 ? verdicts.shift() : verdicts[0];
      return { clean, left: clean === true ? [] : ['public.events'] };
    },
    certifyDeletion: async () => note('certify'),
    reportDeletionFailure: async ({ step, reason }: FaultInput) => note(`failed ${step} ${reason}`),
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
    const handle = await environment.client.workflow.start(deleteTenant, {
      taskQueue,
      workflowId: `test/${randomUUID()}`,
      args: [{ tenantId: 't', deletionId: 'd' }],
    });
    await script.during?.(handle, asked);
    const result = await handle.result();
    const metadata = await handle.query<{ currentDetails?: string }>('__temporal_workflow_metadata');
    return { result, asked, details: metadata.currentDetails };
  });
}

const whole = ['revoke', 'count', 'keys', 'erase', 'erase b', 'histories', 'verify', 'certify'];

describe('deleteTenant', () => {
  it('takes each step once, keys before rows, and certifies what was verified', async () => {
    const { result, asked, details } = await run({});
    expect(asked).toEqual(['halt', 'stage', 'stop', ...whole]);
    expect([result, details]).toEqual([
      { status: 'deleted' },
      'Nothing is left of the tenant; its certificate is signed.',
    ]);
  });

  it('waits for its grace time, and ends at a cancel', async () => {
    const { result, asked } = await run({
      stages: [
        { is: 'waiting', waitMs: 3_600_000 },
        { is: 'ended', status: 'cancelled' },
      ],
      during: async (handle, seen) => {
        await expect.poll(() => seen).toEqual(['halt', 'stage']);
        await handle.signal('cancel');
      },
    });
    expect([result, asked]).toEqual([{ status: 'cancelled' }, ['halt', 'stage', 'stage']]);
  });

  it('goes on with the deletion that was requested after the cancel', async () => {
    const { result, asked } = await run({
      stages: [{ is: 'ended', status: 'cancelled', next: 'e' }, { is: 'deleting' }],
    });
    expect(result).toEqual({ status: 'deleted' });
    expect(asked).toEqual(['halt', 'stage', 'halt', 'stage of e', 'stop', ...whole]);
  });

  it('begins at once when it is brought forward', async () => {
    const { result } = await run({
      stages: [{ is: 'waiting', waitMs: 3_600_000 }, { is: 'deleting' }],
      during: async (handle, seen) => {
        await expect.poll(() => seen).toEqual(['halt', 'stage']);
        await handle.signal('runNow');
      },
    });
    expect(result).toEqual({ status: 'deleted' });
  });

  it('lets work end by its own code, and then ends it', { timeout: 60_000 }, async () => {
    const { asked } = await run({ open: [3, 2, 2, 2, 2, 2, 2, 2, 1, 0] });
    expect(asked.filter((step) => step === 'stop')).toHaveLength(8);
    expect(asked.filter((step) => step === 'force')).toHaveLength(2);
  });

  it('erases again what the verification finds, and destroys a key that was made meanwhile', async () => {
    const { asked } = await run({ verdicts: [false, true] });
    const pass = ['keys', 'erase', 'erase b', 'histories', 'verify'];
    expect(asked.slice(5)).toEqual([...pass, ...pass, 'certify']);
  });

  it('reports a step that cannot be done, and goes on when it is mended and woken', async () => {
    let isBroken = true;
    const { result, asked } = await run({
      revoke: async () => {
        if (isBroken) {
          throw ApplicationFailure.create({ type: 'no_way_out', message: 'no_way_out', nonRetryable: true });
        }
      },
      during: async (handle, seen) => {
        await expect.poll(() => seen.at(-1), { timeout: 10_000 }).toBe('failed revoking no_way_out');
        isBroken = false;
        await handle.signal('runNow');
      },
    });
    expect(result).toEqual({ status: 'deleted' });
    expect(asked.filter((step) => step === 'revoke')).toHaveLength(2);
  });
});
