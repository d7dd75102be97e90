import { afterAll, beforeAll, expect, it } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { mulberry32 } from '../support/model-script.ts';
import { addOperator } from '../support/operators.ts';
import { startStack, type Stack } from '../support/stack.ts';
import { connect } from '../support/tables.ts';
import { countTenantRows } from '../support/tenant-rows.ts';
import { createWorld } from '../support/world.ts';
import { ofPeople, runDeletions } from './deletion-run.ts';
import { seedFrom } from './plan.ts';

let database: TestDatabase;
let stack: Stack;
beforeAll(async () => {
  database = await createTestDatabase();
  stack = await startStack({ database, workers: 2, env: { SWEEP_INTERVAL_SECONDS: '2' } });
});
afterAll(async () => {
  await stack?.stop();
  await database?.drop();
});

it(
  'ends deletions with certificates while workers and gateways are killed',
  { timeout: 240_000 },
  async () => {
    const worlds = [];
    for (let n = 0; n < 5; n += 1) worlds.push(await createWorld(database.unitOfWork));
    const [other, staying, ...leaving] = worlds.map(({ tenantId }) => tenantId);
    const { apiKey } = await addOperator(database.unitOfWork);
    const admin = await connect(database.adminUrl);
    admin.on('error', () => undefined);
    const before = await countTenantRows(admin, other!);
    const seed = seedFrom(process.env);
    const verdict = await runDeletions(
      {
        stack,
        servers: null,
        operatorKey: apiKey,
        leaving,
        staying: [staying!],
        random: mulberry32(seed),
      },
      { victims: ['worker', 'gateway', 'worker'], pauseMs: 1_500, endMs: 120_000 },
    );
    expect(verdict, `seed ${seed}`).toEqual({ uncertified: [], unrestored: [], kills: 3 });
    for (const tenantId of leaving) {
      const left = await countTenantRows(admin, tenantId);
      expect(Object.entries(left).filter(([, n]) => n > 0)).toEqual([]);
    }
    expect(ofPeople(await countTenantRows(admin, other!))).toEqual(ofPeople(before));
    await admin.end();
  },
);
