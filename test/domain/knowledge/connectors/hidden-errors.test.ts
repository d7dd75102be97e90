import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Permission } from '#domain/foundation/access/permissions.ts';
import { newId } from '#domain/foundation/kernel/ids.ts';
import { updateCollection } from '#domain/knowledge/collections/update-collection.ts';
import { cancelSync } from '#domain/knowledge/connectors/cancel-sync.ts';
import { requestSync } from '#domain/knowledge/connectors/request-sync.ts';
import { openWorld, type KnowledgeWorld } from '#test/support/knowledge-world.ts';
import { openMemorySteps } from '#test/support/sources/run-steps.ts';

let world: KnowledgeWorld;
beforeAll(async () => {
  world = await openWorld();
});
afterAll(() => world.stop());

/** A connector of a collection that enforces readers, with a run that has ended with an error of a document. */
async function withErrors() {
  const { source, space, begin, fetch, finish } = await openMemorySteps(world);
  const { collectionId, fixture } = space;
  await world.act(fixture, (ctx) => updateCollection(ctx, { collectionId, enforceSourceReaders: true }));
  source.put('secret', '\0\0\0\0\u0001');
  const runId = await begin();
  await fetch();
  return { space, runId, finish };
}

const asHolderOf: { granted: Permission[]; hides: true | undefined }[] = [
  { granted: ['connectors.sync'], hides: true },
  { granted: ['connectors.sync', 'connectors.update'], hides: undefined },
];

it.each(asHolderOf)(
  'a cancelled run is answered with its errors’ documents hidden: $hides',
  async ({ granted, hides }) => {
    const { space, runId, finish } = await withErrors();
    const cancel = () => world.act(space.fixture, (ctx) => cancelSync(ctx, { ...space.ref, runId }), granted);
    const cancelled = await cancel();
    expect(cancelled.errors).toMatchObject([{ ref: 'secret' }]);
    expect(cancelled.hidesDocuments).toBe(hides);
    await finish('cancelled');
    expect(await cancel()).toMatchObject({ status: 'cancelled' });
    expect((await cancel()).hidesDocuments).toBe(hides);
  },
);

it.each(asHolderOf)('so is the run of a request that is repeated: $hides', async ({ granted, hides }) => {
  const { space, finish } = await withErrors();
  await finish();
  const idempotency = { key: newId(), scope: 'POST /sync', fingerprint: 'f' };
  const request = () =>
    world.act(
      space.fixture,
      (ctx) => requestSync(ctx, { ...space.ref, mode: 'incremental', confirmDeletions: false, idempotency }),
      granted,
    );
  expect((await request()).replayed).toBe(false);
  const { run, replayed } = await request();
  expect(replayed).toBe(true);
  expect(run.hidesDocuments).toBe(hides);
});
