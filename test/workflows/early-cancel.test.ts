import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { planRun, type Plan } from '#domain/knowledge/connectors/plan-run.ts';
import { ConnectorActors } from '#test/support/sources/connector-actors.ts';

let actors: ConnectorActors;
beforeAll(async () => {
  actors = await ConnectorActors.open();
});
afterAll(() => actors.stop());

it('a cancel whose message reached an earlier run of the actor does not hold up the next run', async () => {
  const { space, handle, sync, end } = await actors.connect({ a: 'Alpha.' });
  await sync();
  // By itself it begins no run any more.
  await vi.waitUntil(async () => (await handle.query<Plan | null>('state'))?.is === 'waiting', {
    timeout: 30_000,
    interval: 50,
  });
  const { id } = await space.request();
  await actors.world.unitOfWork.inTenant(space.ids.tenantId, (em) => planRun(em, space.connectorId));
  await space.cancel(id);
  expect(await sync({}, 30_000)).toMatchObject({ status: 'completed' });
  expect(await end(id)).toMatchObject({ status: 'cancelled' });
  expect(await actors.statusOf(space, id)).toBe('CANCELLED');
});

it('a cancel that comes before its run has begun does not hold up the next run', async () => {
  const { space, handle, sync, end } = await actors.connect({ a: 'Alpha.' });
  await sync();
  // As when the run's plan is committed and its answer is on the way: the message finds no running workflow.
  const { id } = await space.request();
  await actors.world.unitOfWork.inTenant(space.ids.tenantId, (em) => planRun(em, space.connectorId));
  await space.cancel(id);
  await handle.signal('cancelRun', id);
  expect(await sync({}, 60_000)).toMatchObject({ status: 'completed' });
  expect(await end(id)).toMatchObject({ status: 'cancelled' });
});
