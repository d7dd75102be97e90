import type { MikroORM } from '@mikro-orm/postgresql';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { UnitOfWork } from '#domain/foundation/persistence/unit-of-work.ts';
import { purgeSyncRuns } from '#domain/operations/maintenance/purge-sync-runs.ts';
import { createOrm } from '#domain/operations/schema/orm.ts';
import { openWorld, type KnowledgeWorld } from '#test/support/knowledge-world.ts';
import { ConnectorSpace, testProviders } from '#test/support/sources/connector-space.ts';
import { MemorySource, memoryProvider } from '#test/support/sources/memory-source.ts';
import { sweepOnce } from '#test/support/sweeps.ts';

let world: KnowledgeWorld;
let purgeOrm: MikroORM;
beforeAll(async () => {
  world = await openWorld();
  purgeOrm = createOrm({ url: world.database.purgeUrl, statementTimeoutMs: 10_000 });
});
afterAll(async () => {
  await purgeOrm?.close(true);
  await world?.stop();
});

const sources = testProviders([memoryProvider(new Map([['m', new MemorySource()]]))]);

/** A connector with runs of so many days ago. */
async function withRuns(days: readonly number[], status = 'completed'): Promise<ConnectorSpace> {
  const space = await ConnectorSpace.create(world, sources, {
    providerSlug: 'memory',
    scopeConfig: { name: 'm' },
  });
  await world.admin.query('delete from sync_runs where connector_id = $1', [space.connectorId]);
  await world.admin.query(
    `insert into sync_runs (tenant_id, id, connector_id, status, trigger, mode, created_at, completed_at)
     select tenant_id, uuidv7(), id, $3, 'schedule', 'incremental', now() - make_interval(days => d),
       case when $3 in ('queued', 'running') then null else now() - make_interval(days => d) end
     from connectors cross join unnest($2::int[]) d where id = $1`,
    [space.connectorId, days, status],
  );
  return space;
}

async function ages({ connectorId }: ConnectorSpace): Promise<number[]> {
  const { rows } = await world.admin.query<{ days: number }>(
    `select extract(day from now() - created_at)::int as days from sync_runs where connector_id = $1 order by 1`,
    [connectorId],
  );
  return rows.map(({ days }) => days);
}

it('removes runs after 30 days, but for the newest of a connector and those that have not ended', async () => {
  const [busy, idle, waiting] = [
    await withRuns([1, 29, 31, 400]),
    await withRuns([40, 50, 60]),
    await withRuns([45], 'running'),
  ];
  await world.admin.query(
    `insert into sync_runs (tenant_id, id, connector_id, trigger, mode) select tenant_id, uuidv7(), id, 'manual', 'full'
     from connectors where id = $1`,
    [waiting.connectorId],
  );
  const purge = new UnitOfWork(purgeOrm);
  expect(await sweepOnce(purgeSyncRuns, { ...world.database, purge })).toMatchObject({ done: 4, failed: 0 });
  expect([await ages(busy), await ages(idle), await ages(waiting)]).toEqual([[1, 29], [40], [0, 45]]);
});
