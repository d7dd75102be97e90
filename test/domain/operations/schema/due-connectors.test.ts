import { afterAll, beforeAll, expect, it } from 'vitest';
import { planRun } from '#domain/knowledge/connectors/plan-run.ts';
import { reconcileConnectors } from '#domain/operations/maintenance/reconcile-connectors.ts';
import { migrate } from '#domain/operations/schema/migrate.ts';
import { openWorld, type KnowledgeWorld } from '#test/support/knowledge-world.ts';
import { ConnectorSpace, testProviders } from '#test/support/sources/connector-space.ts';
import { MemorySource, memoryProvider } from '#test/support/sources/memory-source.ts';
import { sweepOnce } from '#test/support/sweeps.ts';

let world: KnowledgeWorld;
beforeAll(async () => {
  world = await openWorld();
});
afterAll(() => world.stop());

/** Seconds until the sweep wakes the connector's actor; null: it does not. */
async function dueIn({ connectorId }: ConnectorSpace): Promise<number | null> {
  const { rows } = await world.admin.query<{ seconds: number | null }>(
    'select extract(epoch from due_at - now())::float8 as seconds from connectors where id = $1',
    [connectorId],
  );
  return rows[0]!.seconds;
}

/** A connector that an earlier version has left so. */
async function left(values: string): Promise<ConnectorSpace> {
  const sources = testProviders([memoryProvider(new Map([['m', new MemorySource()]]))]);
  const space = await ConnectorSpace.create(world, sources, {
    providerSlug: 'memory',
    scopeConfig: { name: 'm' },
  });
  await world.admin.query(`update connectors set ${values} where id = $1`, [space.connectorId]);
  return space;
}

it('an active connector of a tool server without a schedule is woken after an upgrade, and watched', async () => {
  const waiting = await left(`provider_slug = 'mcp', status = 'active', due_at = null`);
  const others = await Promise.all([
    left(`provider_slug = 'mcp', status = 'paused', due_at = null`),
    left(`provider_slug = 'rss', status = 'active', due_at = null`),
  ]);
  const scheduled = await left(
    `provider_slug = 'mcp', status = 'active', due_at = now() + interval '2 hours'`,
  );
  await world.admin.query(`delete from mikro_orm_migrations where name = 'Migration20261126163000'`);
  const { adminUrl, url, purgeUrl } = world.database;
  await migrate({ DATABASE_ADMIN_URL: adminUrl, DATABASE_URL: url, DATABASE_PURGE_URL: purgeUrl });
  // Workers of the earlier version have a sweep, too, and are replaced meanwhile.
  const due = await dueIn(waiting);
  expect(due).toBeGreaterThan(800);
  expect(due).toBeLessThan(901);
  for (const other of others) expect(await dueIn(other)).toBeNull();
  expect(await dueIn(scheduled)).toBeGreaterThan(7_000);

  await world.admin.query(`update connectors set due_at = now() - interval '1 s' where id = $1`, [
    waiting.connectorId,
  ]);
  await world.admin.query('truncate outbox');
  const { database, unitOfWork, dispatches } = world;
  await sweepOnce(reconcileConnectors, { database: database.database, unitOfWork, dispatches });
  const { tenantId, connectorId } = waiting.ids;
  const { rows } = await world.admin.query('select workflow_id, payload from outbox');
  expect(rows).toMatchObject([
    { workflow_id: `connector/${tenantId}/${connectorId}`, payload: { signal: 'configChanged' } },
  ]);
  const plan = await unitOfWork.inTenant(tenantId, (em) =>
    planRun(em, connectorId, (slug) => slug === 'mcp'),
  );
  expect(plan).toEqual({ is: 'waiting', status: 'active', waitMs: null, watch: true });
  expect(await dueIn(waiting)).toBeGreaterThan(86_000);
});
