import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { SourceFailure, type SourceFailureCode } from '#domain/knowledge/connectors/source.ts';
import { openWorld, type KnowledgeWorld } from '#test/support/knowledge-world.ts';
import { openMemorySteps } from '#test/support/sources/run-steps.ts';

let world: KnowledgeWorld;
beforeAll(async () => {
  world = await openWorld();
});
afterAll(() => world.stop());

/** A run over 50 documents, of which the first ones fail for ever. */
async function failing(count: number, code: SourceFailureCode) {
  const opened = await openMemorySteps(world);
  for (let n = 10; n < 60; n += 1) opened.source.put(`d${n}`, `Document ${n}.`);
  opened.source.before = (kind, ref) => {
    if (kind === 'fetch' && Number(ref!.slice(1)) < 10 + count) throw new SourceFailure(code, 'It fails.');
  };
  await opened.begin();
  return opened;
}

describe('documents in a row that cannot be fetched', () => {
  it.each(['source_invalid', 'scope_invalid', 'source_unreachable'] as const)(
    'stop no other document of a source that answers: %s',
    async (code) => {
      const { space, fetch, finish } = await failing(18, code);
      expect(await fetch()).toEqual({ state: 'listed', recordsFetched: 50 });
      expect(await finish()).toMatchObject({ status: 'completed_with_errors' });
      expect(Object.keys(await space.contents())).toHaveLength(32);
      expect(await space.runs()).toMatchObject([{ failed: 18, added: 32, attempts: 0 }]);
    },
  );

  it('end the step when the source does not answer either, and count for none of them', async () => {
    const { source, space, fetch } = await failing(18, 'source_unreachable');
    const { before } = source;
    source.before = (kind, ref) => {
      if (kind === 'check') throw new SourceFailure('source_unreachable', 'It is away.');
      return before(kind, ref);
    };
    await expect(fetch()).rejects.toMatchObject({ type: 'source_unreachable', message: 'It is away.' });
    expect(await space.runs()).toMatchObject([{ failed: 0, attempts: 1 }]);
    expect(source.take('fetch').length).toBeLessThan(10);
  });
});
