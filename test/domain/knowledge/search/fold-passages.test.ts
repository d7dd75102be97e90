import { describe, expect, it } from 'vitest';
import { foldPassages } from '#domain/knowledge/search/fold-passages.ts';
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
  keywordScore: 0.5,
  vectorScore: 0.5,
  coverage: 0.5,
  start: position * 20,
  end: position * 20 + 11,
  attributes: {},
  position,
  ...rest,
});
const texts = (passages: PlacedPassage[], limit = 10) =>
  foldPassages(passages, limit).map(({ text }) => text);

describe('foldPassages', () => {
  it('joins neighbours in the order of the document, with the score of the best', () => {
    const [joined, ...rest] = foldPassages([passage(5), passage(4), passage(6)], 10);
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

  it('stops at the limit after joining', () => {
    expect(texts([passage(1), passage(2), passage(5)], 2)).toEqual([
      'Sentence 1.\nSentence 2.',
      'Sentence 5.',
    ]);
  });
});
