import { describe, expect, it } from 'vitest';
import { askWhetherGone } from '#activities/connectors/ask-whether-gone.ts';
import { SourceFailure } from '#domain/knowledge/connectors/source.ts';
import { MemorySource } from '#test/support/sources/memory-source.ts';

const missing = (count: number) =>
  Array.from({ length: count }, (_, n) => ({
    id: `id ${n}`,
    ref: `d${n}`,
    documentId: null,
    isGone: false,
    isUnreadable: false,
  }));

function open(failing: (ref: string) => boolean) {
  const source = new MemorySource();
  source.before = (request, ref) => {
    if (request === 'exists' && failing(ref!)) {
      throw new SourceFailure('source_unreachable', 'The source does not answer.');
    }
  };
  const ask = (count: number) =>
    askWhetherGone({ source, pace: async () => {} }, missing(count), {
      endsAt: Infinity,
      signal: AbortSignal.timeout(5_000),
    });
  return { source, ask };
}

describe('asking a source for the documents that its listing lacks', () => {
  it('ends when the source answers nothing any more', async () => {
    const { source, ask } = open(() => true);
    const { before } = source;
    source.before = (request, ref) => {
      if (request === 'check') throw new SourceFailure('source_unreachable', 'The source does not answer.');
      return before(request, ref);
    };
    expect(await ask(100)).toMatchObject({ gone: [], unasked: [], stop: { code: 'source_unreachable' } });
    expect(source.take('exists')).toHaveLength(8);
  });

  it('leaves what it gives no answer for while it answers otherwise', async () => {
    const { source, ask } = open((ref) => ref !== 'd99');
    const { gone, unasked, last, stop } = await ask(100);
    expect(gone.map(({ ref }) => ref)).toEqual(['d99']);
    expect(unasked).toHaveLength(99);
    expect(unasked[0]).toEqual({ id: 'id 0', ref: 'd0', code: 'source_unreachable' });
    expect([last, stop]).toEqual(['id 99', null]);
    expect(source.take('check').length).toBeGreaterThan(5);
  });
});
