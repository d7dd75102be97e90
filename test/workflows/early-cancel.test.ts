import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { planRun, type Plan } from '#domain/knowledge/connectors/plan-run.ts';
import { ConnectorActors } from '#test/support/sources/connector-actors.ts';

let actors: ConnectorActors;
let onPlan = async (_plan: Plan): Promise<void> => {};
beforeAll(async () => {
  actors = await ConnectorActors.open({ onPlan: (plan) => onPlan(plan) });
});
afterAll(() => actors.stop());

/** A connector whose actor waits for a message: by itself it begins no run. */
async function waitingConnector() {
  const connector = await actors.connect({ a: 'Alpha.' });
  await connector.sync();
  const state = () => connector.handle.query<Plan | null>('state').catch(() => null);
  await vi.waitUntil(async () => (await state())?.is === 'waiting', { timeout: 30_000, interval: 50 });
  return connector;
}

/** Requests a run. @returns it when its plan is committed, and what gives the plan to the actor */
async function plannedRun(begin: () => Promise<string>): Promise<{ id: string; release: () => void }> {
  const planned = Promise.withResolvers<void>();
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  onPlan = async ({ is }) => {
    if (is !== 'run') return;
    onPlan = async () => {};
    planned.resolve();
    await released;
  };
  const id = await begin();
  await planned.promise;
  return { id, release };
}

it('a cancel that comes before its run has begun ends it at once', async () => {
  const { space, handle, sync, begin, end } = await waitingConnector();
  const { id, release } = await plannedRun(begin);
  await space.cancel(id);
  await handle.signal('cancelRun', id);
  release();
  expect(await sync({}, 60_000)).toMatchObject({ status: 'completed' });
  expect(await end(id)).toMatchObject({ status: 'cancelled' });
  expect(await actors.statusOf(space, id)).toBe('CANCELLED');
});

it('a cancel whose message reached an earlier run of the actor ends its run at once', async () => {
  const { space, sync, end } = await waitingConnector();
  const { id } = await space.request();
  await actors.world.unitOfWork.inTenant(space.ids.tenantId, (em) => planRun(em, space.connectorId));
  await space.cancel(id);
  expect(await sync({}, 30_000)).toMatchObject({ status: 'completed' });
  expect(await end(id)).toMatchObject({ status: 'cancelled' });
  expect(await actors.statusOf(space, id)).toBe('CANCELLED');
});

it('a cancel whose message is lost holds up the next run for seconds', async () => {
  const { space, sync, begin, end } = await waitingConnector();
  const { id, release } = await plannedRun(begin);
  await space.cancel(id);
  release();
  expect(await sync({}, 60_000)).toMatchObject({ status: 'completed' });
  expect(await end(id)).toMatchObject({ status: 'cancelled' });
});
