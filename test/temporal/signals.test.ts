import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { Client, Connection } from '@temporalio/client';
import pino from 'pino';
import { afterAll, beforeAll, beforeEach, describe, expect, inject, it } from 'vitest';
import { createTelemetry } from '#adapters/telemetry/metrics.ts';
import type { Dispatcher } from '#domain/foundation/durable/dispatcher.ts';
import { signal, signalWithStart, start, type Message } from '#domain/foundation/durable/messages.ts';
import { enqueue } from '#domain/foundation/durable/outbox.ts';
import { sendAfterCommit } from '#domain/foundation/durable/send-after-commit.ts';
import { workflowIdOf } from '#domain/foundation/durable/workflow-types.ts';
import type { Failpoint } from '#domain/foundation/kernel/failpoint.ts';
import { newId } from '#domain/foundation/kernel/ids.ts';
import { UnitOfWork } from '#domain/foundation/persistence/unit-of-work.ts';
import { createDispatcher, startRelay, type DispatcherDependencies } from '#temporal/dispatcher.ts';
import { openEngine, type Engine } from '../support/engine.ts';
import type { Doomed } from '../support/enqueue-and-die.ts';

/** A relay that sends all that is due. */
const starts = { next: () => 1_000 };
let engine: Engine;
let connection: Connection;
let deps: DispatcherDependencies;

beforeAll(async () => {
  engine = await openEngine();
  const { address, namespace } = inject('temporal');
  connection = await Connection.connect({ address });
  deps = {
    client: new Client({ connection, namespace }),
    database: engine.database.database,
    metrics: createTelemetry(),
    logger: pino({ level: 'silent' }),
  };
});
afterAll(async () => {
  await connection?.close();
  await engine?.stop();
});
beforeEach(async () => {
  await engine.admin.query('delete from outbox');
});

/** No worker polls for it, so its history shows what was delivered and nothing else. */
const newSweep = () => `test-${newId()}`;
const wake = (sweep: string, budgetSeconds = 7): Message =>
  signal('runSweep', { sweep }, 'wake', [{ budgetSeconds }]);
const wakeOrStart = (sweep: string): Message =>
  signalWithStart('runSweep', { sweep }, 'wake', [{ budgetSeconds: 7 }]);

/** One transaction of a process that sends through the dispatcher. */
function commit(
  messages: readonly Message[],
  dispatcher: Dispatcher = createDispatcher(deps),
  fails = false,
) {
  const unitOfWork = new UnitOfWork(engine.database.orm, sendAfterCommit(dispatcher));
  return unitOfWork.inTenant(engine.world.tenantId, async (em) => {
    const ids: string[] = [];
    for (const message of messages) ids.push((await enqueue(em, message))!.id);
    if (fails) throw new Error('rolled back');
    return ids;
  });
}

const pending = async () => {
  const { rows } = await engine.admin.query<{ kind: string }>('select kind from outbox order by id');
  return rows.map(({ kind }) => kind);
};
const handleOf = (sweep: string) => deps.client.workflow.getHandle(workflowIdOf('runSweep', { sweep }));

/** The arguments of the signals in a workflow's history; null: there is none. */
async function signalsOf(sweep: string): Promise<unknown[][] | null> {
  const history = await handleOf(sweep)
    .fetchHistory()
    .catch(() => null);
  return (
    history?.events
      ?.flatMap((event) => event.workflowExecutionSignaledEventAttributes ?? [])
      .map(({ input }) =>
        (input?.payloads ?? []).map(({ data }) => JSON.parse(Buffer.from(data!).toString()) as unknown),
      ) ?? null
  );
}

const outcomes = async () => {
  const text = await (deps.metrics as ReturnType<typeof createTelemetry>).scrape();
  return (outcome: string) =>
    Number(
      new RegExp(`^workflow_signals_total\\{type="runSweep",outcome="${outcome}".*\\} (\\d+)`, 'm').exec(
        text,
      )?.[1] ?? 0,
    );
};

describe('a signal', () => {
  it('starts its workflow once it is committed, says by its row’s id which it is, and is then forgotten', async () => {
    const sweep = newSweep();
    const [id] = await commit([wakeOrStart(sweep)]);
    await expect.poll(pending).toEqual([]);
    expect(await signalsOf(sweep)).toEqual([[{ budgetSeconds: 7 }, { id }]]);
    const run = await handleOf(sweep).describe();
    expect(run).toMatchObject({ type: 'runSweep', taskQueue: 'upkeep', status: { name: 'RUNNING' } });
    expect(run.searchAttributes).not.toHaveProperty('TenantId');
    await commit([wakeOrStart(sweep)]);
    await expect.poll(() => signalsOf(sweep).then((all) => all?.length)).toBe(2);
    expect((await handleOf(sweep).describe()).runId).toBe(run.runId);
  });

  it('of a change that is rolled back reaches nobody', async () => {
    const sweep = newSweep();
    await expect(commit([wakeOrStart(sweep)], createDispatcher(deps), true)).rejects.toThrow('rolled back');
    expect(await pending()).toEqual([]);
    expect(await signalsOf(sweep)).toBeNull();
  });

  it('stays in the outbox when Temporal does not take it, and is counted', async () => {
    const failed = (await outcomes())('failed');
    const client = new Client({ connection, namespace: 'no-such-namespace' });
    const ended: boolean[] = [];
    const dispatcher = createDispatcher({ ...deps, client });
    await commit([wakeOrStart(newSweep())], {
      dispatch: async (row) => {
        ended.push(await dispatcher.dispatch(row));
        return ended.at(-1)!;
      },
    });
    await expect.poll(() => ended).toEqual([false]);
    expect(await pending()).toEqual(['signal']);
    expect((await outcomes())('failed')).toBe(failed + 1);
  });

  it('comes behind its start and in its order', async () => {
    const sweep = newSweep();
    await commit([start('runSweep', { sweep }), wake(sweep, 1), wake(sweep, 2), wake(sweep, 3)]);
    await expect.poll(pending).toEqual([]);
    const budgets = (await signalsOf(sweep))?.map(([args]) => args);
    expect(budgets).toEqual([{ budgetSeconds: 1 }, { budgetSeconds: 2 }, { budgetSeconds: 3 }]);
  });

  it('waits while Temporal has not taken what is before it, any caller who sends', async () => {
    const sweep = newSweep();
    const tried: string[] = [];
    await commit([start('runSweep', { sweep }), wake(sweep)], {
      dispatch: async ({ kind }) => {
        tried.push(kind);
        return false;
      },
    });
    await commit([wake(sweep, 9)]);
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(tried).toEqual(['start']);
    expect(await pending()).toEqual(['start', 'signal', 'signal']);
    expect(await signalsOf(sweep)).toBeNull();
    await engine.admin.query('update outbox set claimed_until = now()');
    const relay = startRelay(deps, createDispatcher(deps), { pauseMs: 20, starts });
    await expect.poll(pending, { timeout: 5_000 }).toEqual([]);
    await relay.stop();
    const budgets = (await signalsOf(sweep))?.map(([args]) => args);
    expect(budgets).toEqual([{ budgetSeconds: 7 }, { budgetSeconds: 9 }]);
  });

  it('to a workflow that is gone is dropped, and counted', async () => {
    const dropped = (await outcomes())('dropped');
    const ended = newSweep();
    await commit([wakeOrStart(ended)]);
    await expect.poll(pending).toEqual([]);
    await handleOf(ended).terminate();
    await commit([wake(ended), wake(newSweep())]);
    await expect.poll(pending).toEqual([]);
    expect((await outcomes())('dropped')).toBe(dropped + 2);
    expect(await signalsOf(ended)).toHaveLength(1);
  });

  it.each<[Failpoint, number]>([
    ['create.after_commit', 1],
    ['dispatch.before_start', 1],
    // Sent, but the process died before it could say so: it comes twice, under the same id.
    ['dispatch.after_start', 2],
  ])(
    'is delivered by a relay when its process dies at %s',
    async (failpoint, times) => {
      const { address, namespace } = inject('temporal');
      const { tenantId } = engine.world;
      const sweep = newSweep();
      const doomed: Doomed = { url: engine.database.url, address, namespace, tenantId, sweep, failpoint };
      const program = fileURLToPath(new URL('../support/enqueue-and-die.ts', import.meta.url));
      const child = spawn(process.execPath, [program, JSON.stringify(doomed)], { stdio: 'ignore' });
      expect((await once(child, 'exit'))[1]).toBe('SIGKILL');
      expect(await pending()).toEqual(['signal']);
      expect((await signalsOf(sweep))?.length ?? 0).toBe(times - 1);
      const { rows } = await engine.admin.query<{ id: string }>('select id from outbox');
      const relay = startRelay(deps, createDispatcher(deps), { pauseMs: 50, starts });
      await expect.poll(pending, { timeout: 20_000, interval: 100 }).toEqual([]);
      await relay.stop();
      expect(await signalsOf(sweep)).toEqual(
        Array.from({ length: times }, () => [{ budgetSeconds: 7 }, { id: rows[0]!.id }]),
      );
    },
    20_000,
  );
});
