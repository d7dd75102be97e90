import { setTimeout as sleep } from 'node:timers/promises';
import { Client, Connection } from '@temporalio/client';
import { pino } from 'pino';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { SweepDependencies } from '#domain/operations/sweep-kinds/sweep.ts';
import { startUpkeep } from '#temporal/upkeep.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';

let database: TestDatabase;

beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database.drop());

it('sweeps that cannot be woken are one warning', async () => {
  const lines: { msg: string; sweeps: string[]; error: string }[] = [];
  const logger = pino({}, { write: (line: string) => void lines.push(JSON.parse(line)) });
  const connection = Connection.lazy();
  await connection.close();
  const { database: pool } = database;
  const upkeep = startUpkeep({
    client: new Client({ connection }),
    // Without the others, sweeps fail before they ask anything.
    deps: { database: pool } as SweepDependencies,
    paces: { sweep: 60, seal: 60, anchor: 60, hour: 60, day: 60 },
    logger,
  });
  while (lines.length === 0) await sleep(50);
  await sleep(500);
  await upkeep.stop();
  const [first] = lines;
  expect(lines.filter(({ msg }) => msg === 'upkeep not woken')).toHaveLength(1);
  expect(first?.sweeps.length).toBeGreaterThan(1);
  expect(first?.error).toMatch(/^\w+(,\w+)*$/);
});
