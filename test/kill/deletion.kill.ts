import { expect, it } from 'vitest';
import { createTestDatabase } from '../support/database.ts';
import { mulberry32 } from '../support/model-script.ts';
import { addOperator } from '../support/operators.ts';
import { masterKey, startStack } from '../support/stack.ts';
import { prepareTemplate } from '../support/test-servers.ts';
import { countTenantRows, fillTenant } from '../support/tenant-rows.ts';
import { createWorld } from '../support/world.ts';
import { connect } from '../support/tables.ts';
import { ofPeople, runDeletions, type Victim } from './deletion-run.ts';
import { startFileTemporal, startOwnPostgres, temporaryFolder } from './deployment.ts';
import { seedFrom } from './plan.ts';

const kinds: readonly Victim[] = ['worker', 'gateway', 'worker', 'postgres', 'worker', 'temporal'];

it('survives forty kills of any process over twenty deletions at once', { timeout: 2_400_000 }, async () => {
  const folder = temporaryFolder();
  const [postgres, temporal] = await Promise.all([
    startOwnPostgres(folder.path),
    startFileTemporal(folder.path),
  ]);
  const seed = seedFrom(process.env);
  const random = mulberry32(seed);
  const server = await prepareTemplate(postgres.current.adminUrl);
  const database = await createTestDatabase(server);
  const tenants: string[] = [];
  for (let n = 0; n < 23; n += 1) tenants.push((await createWorld(database.unitOfWork)).tenantId);
  const { apiKey: operatorKey } = await addOperator(database.unitOfWork);
  const [other, ...others] = tenants;
  const [staying, leaving] = [others.slice(0, 2), others.slice(2)];
  const admin = await connect(database.adminUrl);
  for (const tenantId of leaving) await fillTenant(admin, tenantId, 40);
  const before = await countTenantRows(admin, other!);
  await admin.end();
  // From here on its server is killed.
  await Promise.all([database.database.close(), database.orm.close(true)]);
  const stack = await startStack({
    database,
    workers: 2,
    gateways: 2,
    temporalAddress: temporal.current.address,
    env: { MASTER_KEY: masterKey, SWEEP_INTERVAL_SECONDS: '2' },
  });
  try {
    const victims = Array.from({ length: 40 }, (_, n) => kinds[n % kinds.length]!);
    const servers = { postgres: () => postgres.killAndRestart(), temporal: () => temporal.killAndRestart() };
    const verdict = await runDeletions(
      { stack, servers, operatorKey, leaving, staying, random },
      { victims, pauseMs: 4_000, endMs: 900_000 },
    );
    expect(verdict, `seed ${seed}`).toEqual({ uncertified: [], unrestored: [], kills: 40 });
    const looking = await connect(database.adminUrl);
    for (const tenantId of leaving) {
      const left = await countTenantRows(looking, tenantId);
      expect(Object.entries(left).filter(([, n]) => n > 0)).toEqual([]);
    }
    expect(ofPeople(await countTenantRows(looking, other!))).toEqual(ofPeople(before));
    await looking.end();
  } finally {
    await stack.stop();
    await Promise.all([postgres.stop(), temporal.stop()]);
    folder.remove();
  }
});
