import { MockActivityEnvironment } from '@temporalio/testing';
import { expect, it } from 'vitest';
import {
  createMaintenanceActivities,
  type MaintenanceDependencies,
} from '#activities/maintenance/create-maintenance-activities.ts';
import { createOrm } from '#domain/persistence/orm.ts';
import { UnitOfWork } from '#domain/persistence/unit-of-work.ts';
import { sealing } from '#workflows/shared/activity-options.ts';
import { openEngine } from '../support/engine.ts';
import { secrets } from '../support/world.ts';

it('shows the engine that it lives while the database keeps it waiting, so that a lost one is noticed in seconds', async () => {
  expect(sealing.heartbeatTimeout).toBe('5s');
  const engine = await openEngine();
  const orm = createOrm({ url: engine.database.purgeUrl, statementTimeoutMs: 30_000 });
  try {
    const deps = { purge: new UnitOfWork(orm), secrets } as MaintenanceDependencies;
    const environment = new MockActivityEnvironment();
    let beats = 0;
    environment.on('heartbeat', () => void (beats += 1));
    await engine.admin.query('begin; lock table event_chains');
    const sealed = environment.run(createMaintenanceActivities(deps).sealEvents);
    await expect.poll(() => beats, { timeout: 1_900 }).toBeGreaterThan(0);
    await engine.admin.query('rollback');
    expect(await sealed).toMatchObject({ failed: 0 });
  } finally {
    await orm.close(true);
    await engine.stop();
  }
});
