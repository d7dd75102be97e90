import { Client, Connection } from '@temporalio/client';
import pino from 'pino';
import { afterAll, beforeAll, beforeEach, describe, expect, inject, it } from 'vitest';
import { createTelemetry } from '#adapters/telemetry/metrics.ts';
import type { Dispatcher } from '#domain/foundation/durable/dispatcher.ts';
import { cancel, start as startOf, type Dispatch } from '#domain/foundation/durable/messages.ts';
import { enqueue } from '#domain/foundation/durable/outbox.ts';
import type { InputOf } from '#domain/foundation/durable/workflow-types.ts';
import { newId } from '#domain/foundation/kernel/ids.ts';
import { createDispatcher, startRelay, type DispatcherDependencies } from '#temporal/dispatcher.ts';
import { openEngine, type Engine } from '../support/engine.ts';

/** A relay that sends all that is due. */
const starts = { next: () => 1_000 };
let engine: Engine;
let connection: Connection;
let deps: DispatcherDependencies;
let dispatcher: Dispatcher;

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
  dispatcher = createDispatcher(deps);
});
afterAll(async () => {
  await connection.close();
  await engine.stop();
});
beforeEach(async () => {
  await engine.admin.query('delete from outbox');
});

function target(responseId = newId()): InputOf<'generateResponse'> {
  const { tenantId, spaceId } = engine.world;
  return { tenantId, spaceId, responseId, model: 'paid', timeoutSeconds: 60 };
}

const put = (message: Parameters<typeof enqueue>[1]): Promise<Dispatch> =>
  engine.act(async (ctx) => (await enqueue(ctx.em, message))!);
const putStart = (input = target()): Promise<Dispatch> => put(startOf('generateResponse', input));
const pending = async () => (await engine.admin.query('select from outbox')).rowCount;
const describeRun = ({ workflowId }: { workflowId: string }) =>
  deps.client.workflow.getHandle(workflowId).describe();

describe('the dispatcher', () => {
  it('starts the workflow under its id, for operators to read, and only then forgets the row', async () => {
    const row = await putStart();
    await dispatcher.dispatch(row);
    const run = await describeRun(row);
    expect(run).toMatchObject({
      type: 'generateResponse',
      taskQueue: 'interactive',
      status: { name: 'RUNNING' },
      searchAttributes: { TenantId: [row.tenantId], SpaceId: [engine.world.spaceId] },
    });
    expect(await run.staticSummary()).toBe('generateResponse · paid');
    expect(await pending()).toBe(0);
  });

  it('keeps the row when Temporal does not accept the start', async () => {
    const client = new Client({ connection, namespace: 'no-such-namespace' });
    const row = await putStart();
    await createDispatcher({ ...deps, client }).dispatch(row);
    expect(await pending()).toBe(1);
  });

  it('takes an id that was started before as success, running or ended', async () => {
    const row = await putStart();
    await dispatcher.dispatch(row);
    const first = await describeRun(row);
    await dispatcher.dispatch(row);
    await deps.client.workflow.getHandle(row.workflowId).terminate();
    const again = await put({ ...startOf('generateResponse', target()), workflowId: row.workflowId });
    await dispatcher.dispatch(again);
    expect((await describeRun(row)).runId).toBe(first.runId);
    expect(await pending()).toBe(0);
  });

  it('runs a document’s workflow once more under its id when it has ended, and not while it runs', async () => {
    const { tenantId } = engine.world;
    const documentId = newId();
    const start = startOf('ingestDocument', { tenantId, documentId });
    const runOf = async () => (await describeRun(start)).runId;
    const send = async () => dispatcher.dispatch(await put(start));
    await send();
    const first = await runOf();
    await send();
    expect(await runOf()).toBe(first);
    await deps.client.workflow.getHandle(start.workflowId).terminate();
    await send();
    expect(await runOf()).not.toBe(first);
    expect(await pending()).toBe(0);
  });

  it('cancels a workflow, and takes an unknown one as cancelled', async () => {
    const input = target();
    const row = await putStart(input);
    await dispatcher.dispatch(row);
    await dispatcher.dispatch(await put(cancel('generateResponse', input)));
    const history = await deps.client.workflow.getHandle(row.workflowId).fetchHistory();
    const requested = history.events?.filter((e) => e.workflowExecutionCancelRequestedEventAttributes);
    expect(requested).toHaveLength(1);
    await dispatcher.dispatch(await put(cancel('generateResponse', target())));
    expect(await pending()).toBe(0);
  });
});

describe('the relay', () => {
  it('starts what a killed process has left behind, and nothing that another one still holds', async () => {
    const left = await putStart();
    const held = await putStart();
    await engine.admin.query('update outbox set claimed_until = now() where id = $1', [left.id]);
    const relay = startRelay(deps, dispatcher, { pauseMs: 20, starts });
    while ((await pending())! > 1) {
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    await relay.stop();
    expect((await describeRun(left)).status.name).toBe('RUNNING');
    await expect(describeRun(held)).rejects.toThrow(/not found/);
  });

  it('leaves no listeners behind', async () => {
    const added: string[] = [];
    // oxlint-disable-next-line typescript/unbound-method -- called with its own `this` below
    const add = AbortSignal.prototype.addEventListener;
    // oxlint-disable-next-line typescript/unbound-method -- called with its own `this` below
    const remove = AbortSignal.prototype.removeEventListener;
    AbortSignal.prototype.addEventListener = function (this: AbortSignal, ...args: Parameters<typeof add>) {
      added.push(args[0]);
      return add.apply(this, args);
    };
    AbortSignal.prototype.removeEventListener = function (
      this: AbortSignal,
      ...args: Parameters<typeof add>
    ) {
      added.splice(0, 1);
      return remove.apply(this, args);
    };
    try {
      let looks = 0;
      const database = { call: async () => ((looks += 1), []) } as unknown as typeof deps.database;
      const relay = startRelay({ ...deps, database }, dispatcher, { pauseMs: 1, starts });
      await expect.poll(() => looks).toBeGreaterThan(50);
      expect(added.length).toBeLessThan(5);
      await relay.stop();
    } finally {
      Object.assign(AbortSignal.prototype, { addEventListener: add, removeEventListener: remove });
    }
  });
});
