import { describe, expect, it } from 'vitest';
import { FoldedPassages } from '#domain/knowledge/search/fold-passages.ts';
import type { PlacedPassage } from '#domain/knowledge/search/passage.ts';

const passage = (position: number, rest: Partial<PlacedPassage> = {}): PlacedPassage => ({
  documentId: 'd',
  filename: 'a.md',
  collectionId: 'c',
  mediaType: 'text/markdown',
  text: `Sentence ${position}.`,
  heading: 'H',
  page: null,
  anchor: null,
  score: 1 - position / 100,
  searchScore: 0.5,
  rerankScore: null,
  keywordScore: 0.5,
  vectorScore: 0.5,
  coverage: 0.5,
  start: position * 20,
  end: position * 20 + 11,
  attributes: {},
  position,
  ...rest,
});
function fold(passages: PlacedPassage[], limit = 10) {
  const folded = new FoldedPassages(limit);
  for (const passage of passages) {
    folded.add(passage);
  }
  return folded.toPassages();
}
const texts = (...given: Parameters<typeof fold>) => fold(...given).map(({ text }) => text);

describe('folded passages', () => {
  it('joins neighbours in the order of the document, with the score of the best', () => {
    const [joined, ...rest] = fold([passage(5), passage(4), passage(6)]);
    expect(rest).toEqual([]);
    expect(joined).toMatchObject({
      text: 'Sentence 4.\nSentence 5.\nSentence 6.',
      score: 0.95,
      start: 80,
      end: 131,
    });
  });

  it('joins no passages of different documents, headings or pages, and none with a gap', () => {
    expect(texts([passage(1), passage(2, { documentId: 'e' })])).toHaveLength(2);
    expect(texts([passage(1), passage(2, { heading: 'I' })])).toHaveLength(2);
    expect(texts([passage(1), passage(2, { page: 2 })])).toHaveLength(2);
    expect(texts([passage(1), passage(3)])).toHaveLength(2);
  });

  it('joins four at most', () => {
    expect(texts([1, 2, 3, 4, 5].map((position) => passage(position)))).toEqual([
      'Sentence 1.\nSentence 2.\nSentence 3.\nSentence 4.',
      'Sentence 5.',
    ]);
  });

  it('leaves out a text that a better passage has', () => {
    const copy = passage(9, { documentId: 'copy', text: 'Sentence  1.' });
    expect(texts([passage(1), copy, passage(3)])).toEqual(['Sentence 1.', 'Sentence 3.']);
  });

  it('are full when no further passage gets a place of its own', () => {
    const folded = new FoldedPassages(2);
    for (const [next, isFull] of [
      [passage(1), false],
      [passage(2), false],
      [passage(8, { text: 'Sentence 1.' }), false],
      [passage(5), true],
    ] as const) {
      folded.add(next);
      expect(folded.isFull).toBe(isFull);
    }
  });

  it('stops at the limit after joining', () => {
    expect(texts([passage(1), passage(2), passage(5)], 2)).toEqual([
      'Sentence 1.\nSentence 2.',
      'Sentence 5.',
    ]);
  });
});
