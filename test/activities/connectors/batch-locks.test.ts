import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openWorld, type KnowledgeWorld } from '#test/support/knowledge-world.ts';
import { openMemorySteps } from '#test/support/sources/run-steps.ts';

let world: KnowledgeWorld;
beforeAll(async () => {
  world = await openWorld();
});
afterAll(() => world.stop());

/** Each insert of passages takes so long: longer than a person's request waits for a lock. */
const insertSeconds = 6;

beforeAll(async () => {
  await world.admin.query(`create function public.slow_insert() returns trigger language plpgsql as
    'begin perform pg_sleep(${insertSeconds}); return null; end'`);
  await world.admin.query(
    'create trigger slow_insert before insert on chunks for each statement execute function public.slow_insert()',
  );
});

/** A run whose first batch is being stored. */
async function storing() {
  const opened = await openMemorySteps(world);
  opened.source.put('a', 'Alpha.');
  const runId = await opened.begin();
  const work = opened.fetch();
  work.catch(() => {});
  const isInserting = async () => {
    const { rows } = await world.admin.query(
      `select 1 from pg_stat_activity where wait_event = 'PgSleep' and query ilike 'insert into chunks%'`,
    );
    return rows.length > 0;
  };
  await expect.poll(isInserting, { timeout: 30_000, interval: 20 }).toBe(true);
  return { ...opened, runId, work };
}

describe('while a batch of its run is stored', () => {
  it.each(['cancelled', 'paused', 'deleted'] as const)(
    'a connector is %s without waiting for it, and the batch is not stored',
    async (how) => {
      const { space, runId, work } = await storing();
      if (how === 'cancelled') await space.cancel(runId);
      if (how === 'paused') await space.update({ status: 'paused' });
      if (how === 'deleted') await space.delete();
      expect(await work).toEqual({ state: 'ended', recordsFetched: 0 });
      expect(await space.contents()).toEqual({});
    },
  );
});
