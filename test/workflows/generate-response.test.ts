import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { TestWorkflowEnvironment } from '@temporalio/testing';
import { ApplicationFailure, Context } from '@temporalio/activity';
import { WorkflowFailedError, type WorkflowHandle } from '@temporalio/client';
import { Worker } from '@temporalio/worker';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import type { Activities } from '#activities/index.ts';
import type { ResponseEnd } from '#domain/responses/record/response-end.ts';
import type { TurnResult } from '#domain/responses/record/turn-result.ts';
import type { GenerateResponseInput } from '#workflows/generate-response/messages.ts';
import { generateResponse } from '#workflows/index.ts';
import { silenceRuntime } from '../replay/quiet.ts';

type ResponseActivities = Pick<Activities, 'runTurn' | 'runCall' | 'closeResponse' | 'endResponse'>;

const completed = { status: 'completed', reason: null } as const;
const done: TurnResult = { next: 'done', calls: [], end: completed };

function calls(...indexes: number[]): TurnResult {
  return {
    next: 'tools',
    calls: indexes.map((index) => ({ index, summary: `tool ${index}`, retryClass: 'repeatable' })),
  };
}

/** Never ends by itself; a cancel reaches it with its next heartbeat. */
async function runUntilCancelled(): Promise<never> {
  const context = Context.current();
  for (;;) {
    context.heartbeat();
    await context.sleep(50);
  }
}

function endFor(reason: { kind: string; code?: string }): ResponseEnd {
  return reason.kind === 'cancelled'
    ? { status: 'cancelled', reason: null }
    : { status: 'failed', reason: reason.code ?? null };
}

/** Temporal's view of an ended run: its status, and its result or its failure's type. */
async function shownEnd(handle: WorkflowHandle): Promise<[string, unknown]> {
  const shown: unknown = await handle.result().catch((error: unknown) => {
    const cause = error instanceof WorkflowFailedError ? error.cause : null;
    return cause instanceof ApplicationFailure ? cause.type : null;
  });
  return [(await handle.describe()).status.name, shown];
}

describe('generateResponse', () => {
  let environment: TestWorkflowEnvironment;

  beforeAll(async () => {
    silenceRuntime();
    const { address, namespace } = inject('temporal');
    environment = await TestWorkflowEnvironment.createFromExistingServer({ address, namespace });
  });

  afterAll(async () => {
    await environment?.teardown();
  });

  /** Runs the workflow with these activities and returns the order in which they began. */
  async function run(
    fakes: Partial<ResponseActivities>,
    options: {
      timeoutSeconds?: number;
      meanwhile?: (handle: Awaited<ReturnType<typeof start>>) => Promise<unknown>;
    } = {},
  ): Promise<{ log: string[]; details: string; shown: unknown }> {
    const log: string[] = [];
    const activities: ResponseActivities = {
      runTurn: (key) => {
        log.push(`turn ${key.iteration}`);
        return (fakes.runTurn ?? (async () => done))(key);
      },
      runCall: (key) => {
        log.push(`call ${key.iteration}.${key.callIndex}`);
        return (fakes.runCall ?? (async () => ({ outcome: 'succeeded' })))(key);
      },
      closeResponse: (input) => {
        const { reason } = input;
        log.push(`close ${reason.kind}${reason.kind === 'failed' ? ` ${reason.code}` : ''}`);
        return (fakes.closeResponse ?? (async () => null))(input);
      },
      endResponse: (input) => {
        const { reason } = input;
        log.push(`end ${reason.kind}${reason.kind === 'failed' ? ` ${reason.code}` : ''}`);
        return (fakes.endResponse ?? (async () => endFor(reason)))(input);
      },
    };
    const taskQueue = `test-${randomUUID()}`;
    const worker = await Worker.create({
      connection: environment.nativeConnection,
      namespace: inject('temporal').namespace,
      taskQueue,
      workflowBundle: { codePath: inject('workflowBundle') },
      activities,
      maxHeartbeatThrottleInterval: 50,
      defaultHeartbeatThrottleInterval: 50,
    });
    return worker.runUntil(async () => {
      const handle = await start(taskQueue, options.timeoutSeconds ?? 60);
      await options.meanwhile?.(handle);
      const shown = await shownEnd(handle);
      const metadata = await handle.query<{ currentDetails?: string }>('__temporal_workflow_metadata');
      return { log, details: metadata.currentDetails ?? '', shown };
    });
  }

  function start(taskQueue: string, timeoutSeconds: number) {
    const input: GenerateResponseInput = {
      tenantId: randomUUID(),
      spaceId: randomUUID(),
      responseId: 'resp_test',
      model: 'paced',
      timeoutSeconds,
    };
    return environment.client.workflow.start(generateResponse, {
      taskQueue,
      workflowId: `test/${randomUUID()}`,
      args: [input],
    });
  }

  it('ends after one turn that returns done, without another activity', async () => {
    expect(await run({})).toEqual({
      log: ['turn 0'],
      details: 'done',
      shown: ['COMPLETED', { status: 'completed', reason: null }],
    });
  });

  it('runs the calls of a turn, then the next turn, until one returns done', async () => {
    const turns = [calls(0, 2, 5), calls(1), done];
    const { log } = await run({ runTurn: async ({ iteration }) => turns[iteration]! });
    expect(log.map((entry) => entry.replace(/^call 0\.\d/, 'call 0'))).toEqual([
      'turn 0',
      'call 0',
      'call 0',
      'call 0',
      'turn 1',
      'call 1.1',
      'turn 2',
    ]);
    expect(log.slice(1, 4).toSorted()).toEqual(['call 0.0', 'call 0.2', 'call 0.5']);
  });

  it('runs the calls of one turn side by side', async () => {
    const running = new Set<number>();
    const allRunning = Promise.withResolvers<void>();
    await run({
      runTurn: async ({ iteration }) => (iteration === 0 ? calls(0, 1, 2) : done),
      runCall: async ({ callIndex }) => {
        running.add(callIndex);
        if (running.size === 3) {
          allRunning.resolve();
        }
        await allRunning.promise;
        return { outcome: 'succeeded' };
      },
    });
    expect(running.size).toBe(3);
  });

  it('retries a turn with a retryable failure', async () => {
    const { log } = await run({
      runTurn: async () => {
        if (Context.current().info.attempt < 3) {
          throw ApplicationFailure.create({ message: 'model_error', nextRetryDelay: '20ms' });
        }
        return done;
      },
    });
    expect(log).toEqual(['turn 0', 'turn 0', 'turn 0']);
  });

  it('has no last attempt at a turn or a call: an outage may last until the deadline', async () => {
    const limits: [string, number][] = [];
    await run(
      { runTurn: async ({ iteration }) => (iteration === 0 ? calls(0) : done) },
      {
        meanwhile: async (handle) => {
          await handle.result();
          for (const { activityTaskScheduledEventAttributes: of } of (await handle.fetchHistory()).events ??
            []) {
            if (of != null) limits.push([of.activityType?.name ?? '', of.retryPolicy?.maximumAttempts ?? 0]);
          }
        },
      },
    );
    expect(limits).toEqual([
      ['runTurn', 0],
      ['runCall', 0],
      ['runTurn', 0],
    ]);
  });

  it('closes the response when its deadline has come, and stops the turn', async () => {
    const end = { status: 'incomplete', reason: 'deadline_exceeded' } as const;
    const { log, details, shown } = await run(
      { runTurn: runUntilCancelled, endResponse: async () => end },
      { timeoutSeconds: 0.3 },
    );
    expect(log.slice(0, 2)).toEqual(['turn 0', 'close deadline']);
    expect([details, shown]).toEqual(['closed', ['COMPLETED', end]]);
  });

  it('waits again when the closing activity returns the time left', async () => {
    const closedAt: number[] = [];
    const { log } = await run(
      {
        runTurn: runUntilCancelled,
        closeResponse: async ({ reason }) => {
          closedAt.push(performance.now());
          return reason.kind === 'deadline' && closedAt.length < 3 ? 200 : null;
        },
        endResponse: async () => ({ status: 'incomplete', reason: 'deadline_exceeded' }),
      },
      { timeoutSeconds: 0.1 },
    );
    expect(log.filter((entry) => entry === 'close deadline')).toHaveLength(3);
    expect(closedAt[1]! - closedAt[0]!).toBeGreaterThan(200);
    expect(closedAt[2]! - closedAt[1]!).toBeGreaterThan(200);
  });

  it('holds no timer after its end: a response that is done does not wait for its deadline', async () => {
    const since = performance.now();
    const { log } = await run({}, { timeoutSeconds: 600 });
    expect(log).toEqual(['turn 0']);
    expect(performance.now() - since).toBeLessThan(10_000);
  });

  it('closes the response when it is cancelled, though the workflow itself is being cancelled', async () => {
    const begun = Promise.withResolvers<void>();
    const closed: string[] = [];
    const { log, details, shown } = await run(
      {
        runTurn: () => {
          begun.resolve();
          return runUntilCancelled();
        },
        endResponse: async ({ reason }) => {
          await sleep(100);
          closed.push(reason.kind);
          return { status: 'cancelled', reason: null };
        },
      },
      {
        meanwhile: async (handle) => {
          await begun.promise;
          await handle.cancel();
        },
      },
    );
    expect(log.at(-1)).toBe('end cancelled');
    expect(closed).toEqual(['cancelled']);
    expect([details, shown]).toEqual(['closed', ['CANCELLED', null]]);
  });

  it('closes the response as failed when a turn fails permanently', async () => {
    const { log, details, shown } = await run({
      runTurn: async () => {
        throw ApplicationFailure.nonRetryable('broken');
      },
    });
    expect(log).toEqual(['turn 0', 'end failed internal_error']);
    expect([details, shown]).toEqual(['closed', ['FAILED', 'internal_error']]);
  });

  it('closes the response as failed when a call fails permanently', async () => {
    const { log } = await run({
      runTurn: async () => calls(0),
      runCall: async () => {
        throw ApplicationFailure.nonRetryable('broken');
      },
    });
    expect(log).toEqual(['turn 0', 'call 0.0', 'end failed internal_error']);
  });

  it('fails as its response did, with the code of the reason and nothing else', async () => {
    const end = { status: 'failed', reason: 'rate_limited' } as const;
    const { log, shown } = await run({ runTurn: async () => ({ ...done, end }) });
    expect([log, shown]).toEqual([['turn 0'], ['FAILED', 'rate_limited']]);
  });

  it('is cancelled as its response was, also when it learns of that before the cancel arrives', async () => {
    const received = Promise.withResolvers<void>();
    const { log, shown } = await run(
      {
        runTurn: async () => {
          received.resolve();
          return { ...done, end: { status: 'cancelled', reason: null } };
        },
      },
      {
        meanwhile: async (handle) => {
          await received.promise;
          await sleep(300);
          await handle.cancel();
        },
      },
    );
    expect([log, shown]).toEqual([['turn 0'], ['CANCELLED', null]]);
  });

  it('accepts the result of a turn of an earlier version, which contains no end', async () => {
    const { shown } = await run({ runTurn: async () => ({ next: 'done', calls: [] }) });
    expect(shown).toEqual(['COMPLETED', undefined]);
  });
});
