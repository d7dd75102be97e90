import { describe, expect, it } from 'vitest';
import { chunkText } from '#domain/knowledge/ingestion/chunk-text.ts';

describe('chunkText', () => {
  it('gives every passage the place of its section, and lets none span two', () => {
    const text = 'First page. Second page.';
    const chunks = chunkText({
      text,
      sections: [
        { heading: 'A', page: 1, anchor: 'slide 1', start: 0, end: 12 },
        { heading: null, page: 2, anchor: null, start: 12, end: text.length },
      ],
    });
    expect(chunks).toEqual([
      { heading: 'A', page: 1, anchor: 'slide 1', text: 'First page.', start: 0, end: 11 },
      { heading: null, page: 2, anchor: null, text: 'Second page.', start: 12, end: 24 },
    ]);
  });

  it('limits an anchor without cutting a character in two', () => {
    const anchor = `chapter ${'😀'.repeat(400)}`;
    const [chunk] = chunkText({
      text: 'A.',
      sections: [{ heading: null, page: null, anchor, start: 0, end: 2 }],
    });
    expect(chunk!.anchor!.length).toBeLessThanOrEqual(300);
    expect(chunk!.anchor!.isWellFormed()).toBe(true);
  });

  it('gives headings and anchors that PostgreSQL can store', () => {
    const [chunk] = chunkText({
      text: 'A.',
      sections: [{ heading: 'a\0b', page: null, anchor: 'heading a\0b\ud800', start: 0, end: 2 }],
    });
    expect(chunk).toMatchObject({ heading: 'a\uFFFDb', anchor: 'heading a\uFFFDb\uFFFD' });
  });
});
