import { describe, expect, it } from 'vitest';
import { fuseHits } from '#domain/knowledge/search/fuse-hits.ts';

const keyword = [
  { documentId: 'a', position: 0, coverage: 1, rank: 0.2 },
  { documentId: 'b', position: 0, coverage: 0.5, rank: 0.4 },
];
const vector = {
  hits: [
    { documentId: 'c', generation: 1, position: 3, cosine: 0.8 },
    { documentId: 'b', generation: 1, position: 0, cosine: 0.4 },
  ],
  background: { mean: 0.1, deviation: 0.1 },
};
const order = (alpha: number, side: typeof vector | null = vector) =>
  fuseHits({ keyword, vector: side, alpha, limit: 10 }).map(({ documentId }) => documentId);

describe('fuseHits', () => {
  it('ranks by keyword alone, whatever alpha says, when there is no vector side', () => {
    expect(order(0, null)).toEqual(['a', 'b']);
    expect(fuseHits({ keyword, vector: null, alpha: 1, limit: 10 })).toEqual(
      fuseHits({ keyword, vector: null, alpha: 0, limit: 10 }),
    );
  });

  it('moves from the keyword side to the vector side as alpha grows', () => {
    expect(order(0)).toEqual(['a', 'b']);
    expect(order(0.5)).toEqual(['b', 'c', 'a']);
    expect(order(1)).toEqual(['c', 'b']);
  });

  it('keeps every score between 0 and 1 and stops at the limit', () => {
    const hits = fuseHits({ keyword, vector, alpha: 0.75, limit: 2 });
    expect(hits).toHaveLength(2);
    expect(hits.every(({ score }) => score > 0 && score <= 1)).toBe(true);
  });

  it('orders equal scores by their address, also past position 9', () => {
    const same = [10, 9].map((position) => ({ documentId: 'a', position, coverage: 1, rank: 1 }));
    const hits = fuseHits({ keyword: same, vector: null, alpha: 0, limit: 5 });
    expect(hits.map(({ position }) => position)).toEqual([9, 10]);
  });
});
