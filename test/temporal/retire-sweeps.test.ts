import { NativeConnection, Worker } from '@temporalio/worker';
import { Client, Connection } from '@temporalio/client';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { workflowIdOf } from '#domain/foundation/durable/workflow-types.ts';
import { newId } from '#domain/foundation/kernel/ids.ts';
import { retireSweeps } from '#domain/operations/maintenance/retire-sweeps.ts';
import { releaseSweep, claimDueSweeps } from '#domain/operations/maintenance/sweep-clock.ts';
import { createCanceller } from '#temporal/canceller.ts';
import { silenceRuntime } from '../replay/quiet.ts';
import { openEngine, type Engine } from '../support/engine.ts';
import { sweepOnce } from '../support/sweeps.ts';

let engine: Engine;
let connection: Connection;
let native: NativeConnection;
let client: Client;

beforeAll(async () => {
  silenceRuntime();
  engine = await openEngine();
  const { address, namespace } = inject('temporal');
  connection = await Connection.connect({ address });
  native = await NativeConnection.connect({ address });
  client = new Client({ connection, namespace });
});
afterAll(async () => {
  await native?.close();
  await connection?.close();
  await engine?.stop();
});

const retire = () => sweepOnce(retireSweeps, { ...engine.database, canceller: createCanceller(client) });
const age = (sweep: string, days: number) =>
  engine.admin.query(
    `update app.sweeps set taken_at = now() - make_interval(days => $2), succeeded_at = now() - make_interval(days => $2)
     where name = $1`,
    [sweep, days],
  );
const names = async () =>
  (await engine.admin.query<{ name: string }>('select name from app.sweeps order by name')).rows.map(
    ({ name }) => name,
  );

it('a sweep that no worker takes any more loses its actor and its row, and no other sweep does', async () => {
  const { database } = engine.database;
  const [gone, young] = [`gone-${newId()}`, `young-${newId()}`];
  await claimDueSweeps(database, { [gone]: 60, [young]: 86_400 });
  await age(young, 1);
  await releaseSweep(database, young);
  await age(gone, 1);
  expect(await retireSweeps.isDue!({ database } as never)).toBe(false);
  await age(gone, 3);
  expect(await retireSweeps.isDue!({ database } as never)).toBe(true);
  const taskQueue = `test-${newId()}`;
  const worker = await Worker.create({
    connection: native,
    namespace: inject('temporal').namespace,
    taskQueue,
    workflowBundle: { codePath: inject('workflowBundle') },
  });
  await worker.runUntil(async () => {
    const begin = (sweep: string) =>
      client.workflow.start('runSweep', {
        workflowId: workflowIdOf('runSweep', { sweep }),
        taskQueue,
        args: [{ sweep }],
      });
    const [actor, other] = [await begin(gone), await begin(young)];
    expect(await retire()).toMatchObject({ done: 1, failed: 0, next: null });
    await expect(actor.result()).rejects.toMatchObject({ cause: { name: 'CancelledFailure' } });
    expect((await actor.describe()).status.name).toBe('CANCELLED');
    expect((await other.describe()).status.name).toBe('RUNNING');
    await other.terminate();
  });
  expect(await names()).toEqual([young]);
  expect(await retire()).toMatchObject({ done: 0 });
});

it('keeps the row while the actor cannot be cancelled', async () => {
  const sweep = `gone-${newId()}`;
  await claimDueSweeps(engine.database.database, { [sweep]: 60 });
  await age(sweep, 3);
  const away = new Client({ connection, namespace: 'no-such-namespace' });
  const canceller = {
    cancel: (id: string) =>
      away.workflow
        .getHandle(id)
        .cancel()
        .then(() => undefined),
  };
  await expect(sweepOnce(retireSweeps, { ...engine.database, canceller })).rejects.toThrow();
  expect(await names()).toContain(sweep);
  expect(await retire()).toMatchObject({ done: 1 });
});

it('a changed interval holds from the next tick of an upgraded worker on', async () => {
  const { database } = engine.database;
  const sweep = `paced-${newId()}`;
  expect((await claimDueSweeps(database, { [sweep]: 3_600 })).due).toEqual([sweep]);
  await age(sweep, 0);
  await engine.admin.query(`update app.sweeps set taken_at = now() - interval '1 minute' where name = $1`, [
    sweep,
  ]);
  expect((await claimDueSweeps(database, { [sweep]: 3_600 })).due).toEqual([]);
  expect((await claimDueSweeps(database, { [sweep]: 30 })).due).toEqual([sweep]);
});
