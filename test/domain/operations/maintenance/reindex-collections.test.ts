import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { Database } from '#domain/foundation/persistence/database.ts';
import { reindexCollections } from '#domain/operations/maintenance/reindex-collections.ts';
import type { SweepDependencies } from '#domain/operations/sweep-kinds/sweep.ts';
import { germanCollection, type GermanCollection } from '../../../support/changed-language.ts';
import { openWorld, type KnowledgeWorld } from '../../../support/knowledge-world.ts';
import { roundOf, sweepOnce } from '../../../support/sweeps.ts';

let world: KnowledgeWorld;
let database: Database;
let deps: SweepDependencies;

beforeAll(async () => {
  world = await openWorld();
  database = new Database({ url: world.url, statementTimeoutMs: 30_000 });
  deps = { database, unitOfWork: world.unitOfWork } as SweepDependencies;
});
beforeEach(async () => {
  await world.admin.query('delete from language_changes');
});
afterAll(async () => {
  await database?.close();
  await world?.stop();
});

async function changed(passages: number, space?: GermanCollection['space']): Promise<GermanCollection> {
  const collection = await germanCollection(world, space);
  await collection.add(passages);
  await collection.change('german');
  return collection;
}

it('finishes the changes of all tenants in one round, and has no work afterwards', async () => {
  expect(await reindexCollections.isDue!(deps)).toBe(false);
  const first = await changed(300);
  const all = [first, await changed(20, first.space), await changed(250)];
  expect(await reindexCollections.isDue!(deps)).toBe(true);
  expect(await sweepOnce(reindexCollections, deps)).toMatchObject({ failed: 0, next: null });
  for (const [n, collection] of all.entries()) {
    expect(await collection.languages()).toEqual({ german: [300, 20, 250][n] });
  }
  expect(await reindexCollections.isDue!(deps)).toBe(false);
  expect(await sweepOnce(reindexCollections, deps)).toMatchObject({ done: 0, failed: 0, next: null });
});

it('lets tenants take turns, and goes on in the next round where its time was up', async () => {
  const large = [await changed(6_000), await changed(6_000)];
  const done = async () =>
    Promise.all(large.map(async (each) => (await each.statistics()).languageChange?.chunksDone ?? 6_000));
  // One turn a round: of a second.
  const out = () => false;
  const first = await reindexCollections.run(deps, roundOf({ mayGoOn: out }));
  expect(first).toMatchObject({ done: 1, failed: 0, next: expect.any(Array) });
  const after = await done();
  expect(after.toSorted((a, b) => a - b)).toEqual([0, expect.any(Number)]);
  await reindexCollections.run(deps, roundOf({ place: first.next, mayGoOn: out }));
  expect(Math.min(...(await done()))).toBeGreaterThan(0);
  // Behind the last tenant it begins with the first again.
  const last = large
    .map(({ space }) => space.tenantId)
    .toSorted()
    .at(-1)!;
  const rest = await reindexCollections.run(deps, roundOf({ place: [last, last] }));
  expect(rest).toMatchObject({ failed: 0, next: null });
  expect(await done()).toEqual([6_000, 6_000]);
});

it('goes on with the other changes where one fails, and counts it', async () => {
  const broken = await changed(20);
  const others = [await changed(20, broken.space), await changed(20)];
  await world.admin.query(`create or replace function fail_to_index() returns trigger language plpgsql as
    $$ begin raise exception 'broken'; end $$`);
  await world.admin.query(
    `create trigger fail before update on chunks for each row when (old.collection_id = '${broken.collectionId}') execute function fail_to_index()`,
  );
  expect(await sweepOnce(reindexCollections, deps)).toMatchObject({ next: null });
  for (const other of others) {
    expect(await other.languages()).toEqual({ german: 20 });
  }
  const again = await sweepOnce(reindexCollections, deps);
  expect(again).toMatchObject({ done: 0, failed: 1, next: null });
  expect(await broken.found('Häuser')).toBe(20);
  await world.admin.query('drop trigger fail on chunks; drop function fail_to_index');
  await sweepOnce(reindexCollections, deps);
  expect(await broken.languages()).toEqual({ german: 20 });
});
