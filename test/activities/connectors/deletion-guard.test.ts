import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { SourceFailure } from '#domain/knowledge/connectors/source.ts';
import { openWorld, type KnowledgeWorld } from '#test/support/knowledge-world.ts';
import { openMemorySteps } from '#test/support/sources/run-steps.ts';

let world: KnowledgeWorld;
beforeAll(async () => {
  world = await openWorld();
});
afterAll(() => world.stop());

/**
 * A source with so many documents, all of them in the collection. `lists` has the next listings show some of them, and
 * `loses` takes some away.
 */
async function filled(count: number) {
  const opened = await openMemorySteps(world);
  const { source } = opened;
  const refs = Array.from({ length: count }, (_, n) => `d${String(n).padStart(4, '0')}`);
  for (const ref of refs) source.put(ref, `Document ${ref}.`);
  await opened.whole();
  source.take('exists');
  const lists = (shown: readonly string[]) => {
    source.page = () => ({
      documents: shown.map((ref) => source.listed(ref)),
      gone: [],
      next: null,
      checkpoint: null,
      total: null,
      scope: 'everything',
    });
  };
  const loses = (lost: readonly string[]) => lost.forEach((ref) => source.documents.delete(ref));
  const names = async () => Object.keys(await opened.space.contents());
  return { ...opened, refs, lists, loses, names };
}

const held = { status: 'completed_with_errors', errorCode: 'deletion_guard', deleted: 0 };

describe('the guard of deletions', () => {
  it('does not count what a listing lacks and the source still has', async () => {
    const { refs, lists, loses, names, whole, space } = await filled(40);
    lists(refs.slice(0, 10));
    expect(await whole()).toMatchObject({ status: 'completed' });
    expect(await space.runs()).toMatchObject([{ deleted: 0, deletesHeld: 0 }, {}]);
    expect(await names()).toHaveLength(40);

    loses(refs.slice(35));
    expect(await whole()).toMatchObject({ status: 'completed' });
    expect(await space.runs()).toMatchObject([{ deleted: 5, deletesHeld: 0 }, {}, {}]);
    expect(await names()).toHaveLength(35);
  });

  it('holds back as soon as too many are gone, and counts all that the source was not found to have', async () => {
    const { source, refs, lists, loses, names, whole, space } = await filled(60);
    lists(refs.slice(0, 5));
    loses(refs.slice(10));
    for (let runs = 1; runs <= 2; runs += 1) {
      await whole();
      const asked = source.take('exists').map((request) => request.slice('exists '.length));
      expect(asked.length).toBeLessThan(40);
      const found = asked.filter((ref) => source.documents.has(ref)).length;
      expect((await space.runs())[0]).toMatchObject({ ...held, deletesHeld: 55 - found });
    }
    const [second, first] = await space.runs();
    expect(second!.deletesHeld).toBe(first!.deletesHeld);
    expect(await names()).toHaveLength(60);
  });

  it('asks a source that shows nothing any more for a sample of its documents', async () => {
    const { source, lists, loses, refs, whole, names, space } = await filled(1_000);
    lists([]);
    loses(refs);
    await whole();
    expect((await space.runs())[0]).toMatchObject({ ...held, deletesHeld: 1_000 });
    expect(source.take('exists')).toHaveLength(100);
    expect(await names()).toHaveLength(1_000);
  });

  it('does not take the oldest documents for a sample of all', async () => {
    const { lists, loses, refs, whole, names, space } = await filled(1_000);
    lists(refs.slice(700));
    loses(refs.slice(0, 200));
    await whole();
    expect((await space.runs())[0]).toMatchObject({ status: 'completed', deleted: 200, deletesHeld: 0 });
    expect(await names()).toHaveLength(800);
  });

  it('lets nothing be deleted before it is decided, however many steps that takes, and asks for nothing twice', async () => {
    const { source, lists, loses, refs, begin, fetch, detect, finish, space } = await filled(100);
    lists(refs.slice(0, 10));
    loses(refs.slice(10).filter((_, n) => n % 5 === 4));
    await begin();
    await fetch();
    let now = Date.now();
    const clock = vi.spyOn(Date, 'now').mockImplementation(() => now);
    /** Documents that were deleted, and asked for, up to each question. */
    const deleted: number[] = [];
    const states: string[] = [];
    try {
      source.before = async (kind) => {
        if (kind !== 'exists') return;
        now += 3_000;
        deleted.push((await space.runs())[0]!.deleted);
      };
      for (let step = 0; step < 20 && states.at(-1) !== 'done'; step += 1)
        states.push((await detect()).state);
    } finally {
      clock.mockRestore();
    }
    expect(states.length).toBeGreaterThan(3);
    const asked = source.take('exists');
    expect(asked).toHaveLength(90);
    expect(new Set(asked).size).toBe(90);
    // With 25 that may be deleted, it is open until no more than so many can be gone.
    expect(deleted.slice(0, 60).every((count) => count === 0)).toBe(true);
    expect(await finish('done')).toMatchObject({ status: 'completed' });
    expect((await space.runs())[0]).toMatchObject({ deleted: 18, deletesHeld: 0 });
  });

  it('has an answer count in its own run alone', async () => {
    const { source, lists, refs, begin, fetch, detect, finish, whole, names } = await filled(40);
    lists(refs.slice(0, 10));
    const exists = source.exists.bind(source);
    source.exists = () => Promise.resolve(false);
    await begin();
    await fetch();
    await detect();
    await finish('cancelled');
    source.exists = exists;
    expect(await whole()).toMatchObject({ status: 'completed' });
    expect(await names()).toHaveLength(40);
  });

  it('counts nothing that the source gives no answer for, which stays', async () => {
    const { source, lists, loses, refs, whole, names, space } = await filled(60);
    lists([]);
    loses(refs);
    const answered = new Set(refs.slice(0, 12));
    source.before = (kind, ref) => {
      if (kind === 'exists' && !answered.has(ref!)) {
        throw new SourceFailure('source_invalid', 'The answer makes no sense.');
      }
    };
    expect(await whole()).toMatchObject({ status: 'completed' });
    expect((await space.runs())[0]).toMatchObject({ deleted: 12, deletesHeld: 0 });
    expect(await names()).toHaveLength(48);
  });

  it('is decided by what two attempts of one step have been answered together', async () => {
    const { lists, loses, refs, begin, fetch, detect, finish, space, names } = await filled(100);
    lists(refs.slice(0, 10));
    loses(refs.slice(80));
    await begin();
    await fetch();
    await Promise.all([detect(), detect()]);
    await detect();
    expect(await finish('done')).toMatchObject({ status: 'completed' });
    expect((await space.runs())[0]).toMatchObject({ deleted: 20, deletesHeld: 0 });
    expect(await names()).toHaveLength(80);
  });
});
