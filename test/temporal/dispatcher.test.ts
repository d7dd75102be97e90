import { Client, Connection } from '@temporalio/client';
import pino from 'pino';
import { afterAll, beforeAll, beforeEach, describe, expect, inject, it } from 'vitest';
import { createTelemetry } from '#adapters/telemetry/metrics.ts';
import { enqueueCancel, enqueueStart } from '#domain/foundation/durable/outbox.ts';
import type { Dispatch, Dispatcher } from '#domain/foundation/durable/dispatcher.ts';
import { newId } from '#domain/foundation/kernel/ids.ts';
import { createDispatcher, startRelay, type DispatcherDependencies } from '#temporal/dispatcher.ts';
import { openEngine, type Engine } from '../support/engine.ts';

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

function target() {
  const responseId = newId();
  const { tenantId, spaceId } = engine.world;
  return {
    tenantId,
    workflowType: 'generateResponse' as const,
    workflowId: `response/${tenantId}/${responseId}`,
    payload: { tenantId, spaceId, responseId, model: 'paid', timeoutSeconds: 60 },
  };
}

const owe = (start = target()): Promise<Dispatch> => engine.act((ctx) => enqueueStart(ctx.em, start));
const owed = async () => (await engine.admin.query('select from outbox')).rowCount;
const describeRun = ({ workflowId }: { workflowId: string }) =>
  deps.client.workflow.getHandle(workflowId).describe();

describe('the dispatcher', () => {
  it('starts the workflow under its id, for operators to read, and only then deletes the row', async () => {
    const row = await owe();
    await dispatcher.dispatch(row);
    const run = await describeRun(row);
    expect(run).toMatchObject({
      type: 'generateResponse',
      taskQueue: 'interactive',
      status: { name: 'RUNNING' },
      searchAttributes: { TenantId: [row.tenantId], SpaceId: [engine.world.spaceId] },
    });
    expect(await run.staticSummary()).toBe('generateResponse · paid');
    expect(await owed()).toBe(0);
  });

  it('keeps the row when Temporal does not accept the start', async () => {
    const client = new Client({ connection, namespace: 'no-such-namespace' });
    const row = await owe();
    await createDispatcher({ ...deps, client }).dispatch(row);
    expect(await owed()).toBe(1);
  });

  it('treats an id that was started before as success, running or ended', async () => {
    const row = await owe();
    await dispatcher.dispatch(row);
    const first = await describeRun(row);
    await dispatcher.dispatch(row);
    await deps.client.workflow.getHandle(row.workflowId).terminate();
    const again = await owe({ ...target(), workflowId: row.workflowId });
    await dispatcher.dispatch(again);
    expect((await describeRun(row)).runId).toBe(first.runId);
    expect(await owed()).toBe(0);
  });

  it('runs a document’s workflow once more under its id when it has ended, and not while it runs', async () => {
    const { tenantId } = engine.world;
    const documentId = newId();
    const start = {
      tenantId,
      workflowType: 'ingestDocument' as const,
      workflowId: `document/${tenantId}/${documentId}`,
      payload: { tenantId, documentId },
    };
    const runOf = async () => (await describeRun(start)).runId;
    const send = async () => dispatcher.dispatch(await engine.act((ctx) => enqueueStart(ctx.em, start)));
    await send();
    const first = await runOf();
    await send();
    expect(await runOf()).toBe(first);
    await deps.client.workflow.getHandle(start.workflowId).terminate();
    await send();
    expect(await runOf()).not.toBe(first);
    expect(await owed()).toBe(0);
  });

  it('cancels a workflow, and treats an unknown one as cancelled', async () => {
    const row = await owe();
    await dispatcher.dispatch(row);
    const cancel = await engine.act((ctx) => enqueueCancel(ctx.em, row));
    await dispatcher.dispatch(cancel!);
    const history = await deps.client.workflow.getHandle(row.workflowId).fetchHistory();
    const requested = history.events?.filter((e) => e.workflowExecutionCancelRequestedEventAttributes);
    expect(requested).toHaveLength(1);
    const unknown = await engine.act((ctx) => enqueueCancel(ctx.em, target()));
    await dispatcher.dispatch(unknown!);
    expect(await owed()).toBe(0);
  });
});

describe('the relay', () => {
  it('starts rows that a killed process has left behind, and none that another one still holds', async () => {
    const left = await owe();
    const held = await owe();
    await engine.admin.query('update outbox set claimed_until = now() where id = $1', [left.id]);
    const relay = startRelay(deps, dispatcher, 20);
    while ((await owed())! > 1) {
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
      const relay = startRelay({ ...deps, database }, dispatcher, 1);
      await expect.poll(() => looks).toBeGreaterThan(50);
      expect(added.length).toBeLessThan(5);
      await relay.stop();
    } finally {
      Object.assign(AbortSignal.prototype, { addEventListener: add, removeEventListener: remove });
    }
  });
});
