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
    let release = () => undefined as void;
    const held = new Promise<void>((resolve) => (release = resolve));
    class Slow extends UnitOfWork {
      override async acrossTenants<T>(...work: Parameters<UnitOfWork['acrossTenants']>): Promise<T> {
        await held;
        return super.acrossTenants(...work) as Promise<T>;
      }
    }
    const deps = { purge: new Slow(orm), secrets } as unknown as MaintenanceDependencies;
    const environment = new MockActivityEnvironment();
    let beats = 0;
    environment.on('heartbeat', () => void (beats += 1));
    const sealed = environment.run(createMaintenanceActivities(deps).sealEvents);
    await expect.poll(() => beats, { timeout: 5_000 }).toBeGreaterThan(0);
    release();
    expect(await sealed).toMatchObject({ failed: 0 });
  } finally {
    await orm.close(true);
    await engine.stop();
  }
});
