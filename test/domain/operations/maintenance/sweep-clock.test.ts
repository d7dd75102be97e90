import { afterAll, beforeAll, expect, it } from 'vitest';
import { claimDueSweeps } from '#domain/operations/maintenance/sweep-clock.ts';
import { createTestDatabase, type TestDatabase } from '../../../support/database.ts';
import { connect } from '../../../support/tables.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database?.drop());

it('gives each sweep to one clock of many, and returns when the next is due', async () => {
  const paces = { often: 60, seldom: 3_600 };
  const ticks = await Promise.all(Array.from({ length: 5 }, () => claimDueSweeps(database.database, paces)));
  expect(ticks.flatMap(({ due }) => due).toSorted()).toEqual(['often', 'seldom']);
  for (const { waitSeconds } of ticks) {
    expect(waitSeconds).toBeLessThanOrEqual(60);
  }
  // As if a minute were over.
  const admin = await connect(database.adminUrl);
  await admin.query(`update app.sweeps set taken_at = taken_at - interval '60 seconds'`);
  await admin.end();
  expect((await claimDueSweeps(database.database, paces)).due).toEqual(['often']);
});
