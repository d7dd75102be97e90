import { describe, expect, it } from 'vitest';
import { fuseHits } from '#domain/knowledge/search/fuse-hits.ts';

const keyword = [
  { documentId: 'a', position: 0, score: 0.8, coverage: 1 },
  { documentId: 'b', position: 0, score: 0.5, coverage: 0.6 },
];
const vector = {
  hits: [
    { documentId: 'c', generation: 1, position: 3, cosine: 0.9 },
    { documentId: 'b', generation: 1, position: 0, cosine: 0.5 },
  ],
  background: { mean: 0.1, deviation: 0.1 },
};
const fuse = (alpha: number, side: typeof vector | null = vector) =>
  fuseHits({ keyword, vector: side, alpha, limit: 10 });
const order = (...given: Parameters<typeof fuse>) => fuse(...given).map(({ documentId }) => documentId);

describe('fuseHits', () => {
  it('ranks by keyword alone, whatever alpha says, when there is no vector side', () => {
    expect(order(0, null)).toEqual(['a', 'b']);
    expect(fuse(1, null)).toEqual(fuse(0, null));
  });

  it('leaves only the passages of the keyword side at 0, and only those of the vector side at 1', () => {
    expect(order(0)).toEqual(['a', 'b']);
    expect(order(0.5)).toEqual(['b', 'a', 'c']);
    expect(order(1)).toEqual(['c', 'b']);
  });

  it('is exact at its ends: the score is the one of that side', () => {
    expect(fuse(0).map(({ score }) => score)).toEqual([0.8, 0.5]);
    expect(fuse(1).map(({ score, vectorScore }) => score - vectorScore)).toEqual([0, 0]);
    expect(fuse(1)[1]).toMatchObject({ keywordScore: 0.5, coverage: 0.6 });
  });

  it('ranks a passage that waits for its vector by its words', () => {
    const waiting = [{ ...keyword[0]!, lacksVector: true as const }, keyword[1]!];
    const hits = fuseHits({ keyword: waiting, vector, alpha: 0.75, limit: 10 });
    expect(hits[0]).toMatchObject({ documentId: 'a', score: 0.8, keywordScore: 0.8, vectorScore: 0 });
    const byMeaning = fuseHits({ keyword: waiting, vector, alpha: 1, limit: 10 });
    expect(byMeaning.map(({ documentId }) => documentId)).toEqual(['c', 'b']);
  });

  it('shows both scores of a passage, and 0 for the side that did not find it', () => {
    const [b, a, c] = fuse(0.5);
    expect(a).toMatchObject({ keywordScore: 0.8, vectorScore: 0, score: 0.4 });
    expect(c).toMatchObject({ keywordScore: 0, coverage: 0 });
    expect(b?.vectorScore).toBeCloseTo(Math.tanh(0.5), 9);
    expect(b?.score).toBeCloseTo((0.5 + Math.tanh(0.5)) / 2, 9);
  });

  it('gives a passage the same score whatever else was found', () => {
    const alone = fuseHits({
      keyword: keyword.slice(1),
      vector: { ...vector, hits: vector.hits.slice(1) },
      alpha: 0.75,
      limit: 10,
    });
    expect(alone[0]).toEqual(fuse(0.75).find(({ documentId }) => documentId === 'b'));
  });

  it('keeps every score between 0 and 1 and stops at the limit, also without a deviation', () => {
    const flat = { ...vector, background: { mean: 0.6, deviation: 0 } };
    const hits = fuseHits({ keyword, vector: flat, alpha: 0.75, limit: 2 });
    expect(hits).toHaveLength(2);
    for (const { score, keywordScore, vectorScore } of [...hits, ...fuse(1, flat)]) {
      for (const value of [score, keywordScore, vectorScore]) {
        expect(value).toBeGreaterThanOrEqual(0);
        expect(value).toBeLessThanOrEqual(1);
      }
    }
  });

  it('orders equal scores by their address, also past position 9', () => {
    const same = [10, 9].map((position) => ({ documentId: 'a', position, score: 1, coverage: 1 }));
    const hits = fuseHits({ keyword: same, vector: null, alpha: 0, limit: 5 });
    expect(hits.map(({ position }) => position)).toEqual([9, 10]);
  });
});
