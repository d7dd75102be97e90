import { randomUUID } from 'node:crypto';
import type { WorkflowHandle } from '@temporalio/client';
import { TestWorkflowEnvironment } from '@temporalio/testing';
import { Worker } from '@temporalio/worker';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import type { RoundResult } from '#domain/operations/sweep-kinds/round.ts';
import { wakeSignal, type RoundInput } from '#workflows/run-sweep/messages.ts';
import { runSweep } from '#workflows/index.ts';
import { silenceRuntime } from '../replay/quiet.ts';

describe('the actor of a sweep', () => {
  let environment: TestWorkflowEnvironment;

  beforeAll(async () => {
    silenceRuntime();
    const { address, namespace } = inject('temporal');
    environment = await TestWorkflowEnvironment.createFromExistingServer({ address, namespace });
  });
  afterAll(async () => {
    await environment?.teardown();
  });

  interface Actor {
    handle: WorkflowHandle;
    rounds: RoundInput[];
    wake: (budgetSeconds?: number) => Promise<void>;
    details: () => Promise<string | undefined>;
  }

  async function meet<T>(
    answer: (round: number) => RoundResult,
    work: (actor: Actor) => Promise<T>,
  ): Promise<T> {
    const taskQueue = `test-${randomUUID()}`;
    const workflowId = `test/${randomUUID()}`;
    const rounds: RoundInput[] = [];
    const worker = await Worker.create({
      connection: environment.nativeConnection,
      namespace: inject('temporal').namespace,
      taskQueue,
      workflowBundle: { codePath: inject('workflowBundle') },
      activities: { purgeThings: async (input: RoundInput) => answer(rounds.push(input)) },
    });
    const handle = environment.client.workflow.getHandle(workflowId);
    return worker.runUntil(async () => {
      try {
        return await work({
          handle,
          rounds,
          wake: async (budgetSeconds = 7) => {
            await environment.client.workflow.signalWithStart(runSweep, {
              taskQueue,
              workflowId,
              args: [{ sweep: 'purgeThings' }],
              signal: wakeSignal,
              signalArgs: [{ budgetSeconds }],
            });
          },
          details: async () =>
            (await handle.query<{ currentDetails?: string }>('__temporal_workflow_metadata')).currentDetails,
        });
      } finally {
        await handle.terminate();
      }
    });
  }

  const done = { done: 1, failed: 0, next: null };

  it('runs a round when it is signalled, and sleeps between', async () => {
    await meet(
      () => done,
      async ({ wake, rounds, details, handle }) => {
        await wake();
        await expect.poll(details, { timeout: 10_000 }).toBe('last round: 1 done, failed rows 0');
        await wake(9);
        await expect.poll(() => rounds.length, { timeout: 10_000 }).toBe(2);
        expect(rounds).toEqual([
          { place: null, budgetSeconds: 7 },
          { place: null, budgetSeconds: 9 },
        ]);
        expect((await handle.describe()).status.name).toBe('RUNNING');
      },
    );
  });

  it('continues at once where a round was out of time, until nothing is left', async () => {
    const places = [['a'], ['b'], null];
    await meet(
      (round) => ({ ...done, next: places[round - 1] ?? null }),
      async ({ wake, rounds }) => {
        await wake();
        const asked = () => rounds.map(({ place }) => place);
        await expect.poll(asked, { timeout: 10_000 }).toEqual([null, ['a'], ['b']]);
      },
    );
  });

  it('survives a failed round, and starts again with the next one', async () => {
    await meet(
      (round) => {
        if (round <= 2) {
          throw new Error('The database is away.');
        }
        return done;
      },
      async ({ wake, rounds, details }) => {
        await wake();
        await expect.poll(details, { timeout: 10_000 }).toBe('the last round failed');
        await wake();
        await expect.poll(details, { timeout: 10_000 }).toBe('last round: 1 done, failed rows 0');
        expect(rounds).toHaveLength(3);
      },
    );
  });

  it('continues as new where the history has grown long, at the same position', async () => {
    const last = 90;
    await meet(
      (round) => ({ ...done, next: round === last ? null : [String(round)] }),
      async ({ wake, rounds, handle }) => {
        await wake();
        const first = (await handle.describe()).runId;
        await expect.poll(() => rounds.length, { timeout: 20_000 }).toBe(last);
        expect(rounds.map(({ place }) => place?.[0] ?? '0')).toEqual(rounds.map((_, i) => String(i)));
        expect((await handle.describe()).runId).not.toBe(first);
      },
    );
  }, 30_000);
});
