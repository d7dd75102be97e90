import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { SourceFailure, type SourcePage } from '#domain/knowledge/connectors/source.ts';
import { restartListing } from '#domain/knowledge/synchronisation/restart-listing.ts';
import { openWorld, type KnowledgeWorld } from '#test/support/knowledge-world.ts';
import { MemorySource, memoryProvider } from '#test/support/sources/memory-source.ts';
import { RunInSteps } from '#test/support/sources/run-in-steps.ts';

let world: KnowledgeWorld;
let source: MemorySource;
let other: MemorySource;
let run: RunInSteps;
beforeAll(async () => {
  world = await openWorld();
});
afterAll(() => world.stop());
beforeEach(async () => {
  [source, other] = [new MemorySource(), new MemorySource()];
  const sources = new Map([
    ['source', source],
    ['other', other],
  ]);
  run = await RunInSteps.open(world, memoryProvider(sources), {
    providerSlug: 'memory',
    scopeConfig: { name: 'source' },
  });
});

const restart = () =>
  world.unitOfWork.inTenant(run.space.ids.tenantId, (em) => restartListing(em, run.runId));

function page(of: MemorySource, refs: string[], more: Partial<SourcePage>): SourcePage {
  const documents = refs.map((ref) => of.listed(ref));
  return { documents, gone: [], next: null, checkpoint: null, total: null, scope: 'changes', ...more };
}

describe('a listing of changes', () => {
  it('ends with the last state of each document', async () => {
    const refs = ['a', 'b', 'c', 'd'];
    for (const ref of refs) source.put(ref, `${ref} one.`, { readers: 'public' });
    source.page = () => page(source, refs, { scope: 'everything', checkpoint: 't0' });
    await run.whole();
    const boss = { addresses: ['boss@example.org'], groups: [] };
    source.page = (cursor) => {
      if (cursor === null) {
        for (const ref of refs) source.put(ref, `${ref} two.`, { readers: 'public' });
        return page(source, ['a', 'b', 'c'], { gone: ['d'], next: '1' });
      }
      // Meanwhile a is deleted, b has changed again, c is closed to the public, and d is back as it was.
      source.put('b', 'b three.', { readers: 'public' });
      source.put('c', 'c two.', { version: '2', readers: boss });
      source.put('d', 'd one.', { version: '1', readers: 'public' });
      return page(source, ['b', 'c', 'd'], { gone: ['a'], checkpoint: 't1' });
    };
    expect(await run.whole()).toMatchObject({ status: 'completed' });
    expect(await run.space.contents()).toEqual({ 'b.md': 'b three.', 'c.md': 'c two.', 'd.md': 'd one.' });
    const { rows } = await world.admin.query(
      `select source_readers from documents where collection_id = $1 and filename = 'c.md'`,
      [run.space.collectionId],
    );
    expect(rows).toEqual([{ source_readers: ['address:boss@example.org'] }]);
  });

  it('begins for another scope without the checkpoint of a run that the change has met', async () => {
    source.put('a', 'Alpha.');
    other.put('z', 'Zeta.');
    for (const each of [source, other]) {
      each.page = (_, checkpoint) =>
        page(each, checkpoint === null ? [...each.documents.keys()] : [], {
          scope: checkpoint === null ? 'everything' : 'changes',
          checkpoint: 'token',
        });
    }
    await run.begin();
    await run.fetch();
    await run.space.update({ scopeConfig: { name: 'other' } });
    await run.detect();
    expect(await run.finish('done')).toMatchObject({ status: 'cancelled' });
    await run.whole();
    expect(await run.space.contents()).toEqual({ 'z.md': 'Zeta.' });
  });
});

describe('a first page that is listed once more after an interruption', () => {
  it('ends with the last state of each document', async () => {
    for (const ref of ['a', 'b', 'c']) source.put(ref, `${ref} one.`, { readers: 'public' });
    source.page = () => page(source, ['a', 'b', 'c'], { scope: 'everything', checkpoint: 't' });
    let pauses = 1;
    source.before = (request, ref) => {
      if (request !== 'fetch' || ref !== 'c' || pauses === 0) return;
      pauses -= 1;
      throw new SourceFailure('rate_limited', 'The source asks for a pause.', { retryAfterMs: 1 });
    };
    await run.begin();
    expect(await run.fetch()).toMatchObject({ state: 'more' });
    source.put('a', 'a two.', { readers: { addresses: ['boss@example.org'], groups: [] } });
    source.page = () => page(source, ['a', 'c'], { scope: 'everything', checkpoint: 't', gone: ['b'] });
    await run.fetch();
    await run.detect();
    expect(await run.finish('done')).toMatchObject({ status: 'completed' });
    expect(await run.space.contents()).toEqual({ 'a.md': 'a two.', 'c.md': 'c one.' });
  });
});

describe('a listing that begins once more', () => {
  it('may be begun by two attempts of one step', async () => {
    await run.begin();
    expect([await restart(), await restart()]).toEqual([true, true]);
  });

  it('does not begin a third time, since its cursors do not live long enough', async () => {
    source.put('a', 'Alpha.');
    await run.begin();
    await restart();
    await run.fetch();
    expect(await restart()).toBe(false);
  });

  it('does not count what only the listing of before has shown', async () => {
    for (const ref of ['a', 'b', 'c']) source.put(ref, `${ref}.`);
    source.page = (cursor) => {
      if (cursor !== null) throw new SourceFailure('cursor_expired', 'The cursor has expired.');
      return page(source, ['a', 'b'], { scope: 'everything', next: '1' });
    };
    await run.begin();
    await expect(run.fetch()).rejects.toMatchObject({ type: 'cursor_expired' });
    await restart();
    source.documents.delete('a');
    source.page = () => page(source, ['b', 'c'], { scope: 'everything', checkpoint: 't' });
    await run.fetch();
    await run.detect();
    expect(await run.finish('done')).toMatchObject({ status: 'completed' });
    expect(await run.space.contents()).toEqual({ 'b.md': 'b.', 'c.md': 'c.' });
    expect((await run.space.runs())[0]).toMatchObject({ recordsFetched: 2 });
  });
});
