import { randomUUID } from 'node:crypto';
import { TestWorkflowEnvironment } from '@temporalio/testing';
import { Worker } from '@temporalio/worker';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import type { PageInput, PageResult } from '#workflows/fan-out-event/messages.ts';
import { fanOutEvent } from '#workflows/index.ts';
import { silenceRuntime } from '../replay/quiet.ts';

describe('fanOutEvent', () => {
  let environment: TestWorkflowEnvironment;

  beforeAll(async () => {
    silenceRuntime();
    const { address, namespace } = inject('temporal');
    environment = await TestWorkflowEnvironment.createFromExistingServer({ address, namespace });
  });
  afterAll(async () => {
    await environment?.teardown();
  });

  async function run(deliverNotifications: (page: PageInput) => Promise<PageResult>) {
    const taskQueue = `test-${randomUUID()}`;
    const workflowId = `test/${randomUUID()}`;
    const worker = await Worker.create({
      connection: environment.nativeConnection,
      namespace: inject('temporal').namespace,
      taskQueue,
      workflowBundle: { codePath: inject('workflowBundle') },
      activities: { deliverNotifications },
    });
    return worker.runUntil(async () => {
      const handle = await environment.client.workflow.start(fanOutEvent, {
        taskQueue,
        workflowId,
        args: [{ tenantId: 't', eventId: 'e', eventType: 'space.deleted' }],
      });
      const result = await handle.result();
      const newest = environment.client.workflow.getHandle(workflowId);
      const metadata = await newest.query<{ currentDetails?: string }>('__temporal_workflow_metadata');
      const { historyLength, runId } = await newest.describe();
      const isContinued = runId !== handle.firstExecutionRunId;
      return { result, details: metadata.currentDetails, historyLength, isContinued };
    });
  }

  it('requests one page after the other, each after the last, and adds up the recipients', async () => {
    const asked: PageInput[] = [];
    const ends = ['b', 'd', null];
    const { result, details, isContinued } = await run(async (page) => {
      asked.push(page);
      return { next: ends[asked.length - 1] ?? null, delivered: 2 };
    });
    expect(asked.map(({ after }) => after)).toEqual([null, 'b', 'd']);
    expect([result, details, isContinued]).toEqual([
      { status: 'completed', reason: null, delivered: 6 },
      'space.deleted: all recipients notified',
      false,
    ]);
  });

  it('continues as new where the history has grown long, and requests no page twice', async () => {
    const pages = 80;
    const asked: (string | null)[] = [];
    const { result, historyLength, isContinued } = await run(async ({ after }) => {
      asked.push(after);
      const at = Number(after ?? 0) + 1;
      return { next: at === pages ? null : String(at), delivered: 1 };
    });
    expect(asked).toEqual([null, ...Array.from({ length: pages - 1 }, (_, i) => String(i + 1))]);
    expect([result, isContinued]).toEqual([{ status: 'completed', reason: null, delivered: pages }, true]);
    expect(historyLength).toBeLessThan(420);
  });
});
