import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createTextExtractor } from '#adapters/knowledge/text-extractor.ts';
import { chunkText } from '#domain/knowledge/ingestion/chunk-text.ts';
import { ExtractionFailure } from '#domain/knowledge/ingestion/document-extractor.ts';
import type { DocumentMediaType } from '#domain/knowledge/collections/document-status.ts';
import { sourceOf } from '../support/document-source.ts';
import { slowPage } from '../support/slow-page.ts';
import { extractor } from '../support/extractor.ts';

const never = new AbortController().signal;
const extract = (mediaType: DocumentMediaType, content: string) =>
  extractor.extract(sourceOf({ tenantId: 'a', mediaType, content }), never);

describe('markdown', () => {
  it('is cut at its headings, each section under the trail of titles above it', async () => {
    const text = '# Guide\n\nIntro.\n\n## Halden *beacon*\n\nPainted.\n\nOslo\n----\nBlue.\n\n# End\nBye.\n';
    const { sections } = await extract('text/markdown', text);
    expect(sections.map(({ heading, start, end }) => [heading, text.slice(start, end).trim()])).toEqual([
      ['Guide', 'Intro.'],
      ['Guide › Halden beacon', 'Painted.'],
      ['Guide › Oslo', 'Blue.'],
      ['End', 'Bye.'],
    ]);
  });

  it('keeps a comment of a code fence out of its headings', async () => {
    const { sections } = await extract('text/markdown', '# A\n\n```sh\n# not a heading\n```\n\nText.\n');
    expect(sections.map(({ heading }) => heading)).toEqual(['A']);
  });
});

describe('html', () => {
  const page = `<!doctype html><html><head><title>Harbour guide</title><script>alert('x')</script></head><body>
    <nav><a href="/">Home</a></nav><h1>Harbour guide</h1><p>The Halden beacon is <b>painted</b> ultramarine.</p>
    <h2>Opening</h2><p>Nine &amp; later.</p></body></html>`;

  it('becomes the markdown of its main content, cut at its headings', async () => {
    const { text, sections } = await extract('text/html', page);
    expect(sections.map(({ heading, start, end }) => [heading, text.slice(start, end).trim()])).toEqual([
      ['Harbour guide', 'The Halden beacon is **painted** ultramarine.'],
      ['Harbour guide › Opening', 'Nine & later.'],
    ]);
    expect(text).not.toContain('alert');
  });

  it('is read also when it is a fragment without a page around it', async () => {
    const { text } = await extract('text/html', '<p>The beacon is painted ultramarine.</p>');
    expect(text).toBe('The beacon is painted ultramarine.');
  });

  it('is read without fetching anything that it names', async () => {
    let requests = 0;
    const server = createServer((_, response) => {
      requests += 1;
      response.end();
    }).listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    const at = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const bait = `<link rel="stylesheet" href="${at}/a.css"><script src="${at}/b.js"></script><img src="${at}/c.png">`;
    const { text } = await extract(
      'text/html',
      `<html><head>${bait}</head><body>${bait}<p>Only this text.</p></body></html>`,
    );
    await new Promise((resolve) => server.close(resolve));
    expect(text).toContain('Only this text.');
    expect(requests).toBe(0);
  });

  it.each(['<div>', '<b>'])('is read as a whole where %s is nested without end', async (tag) => {
    const content = `<h1>Guide</h1>${tag.repeat(50_000)}The beacon is painted.`;
    const { sections, text } = await extract('text/html', content);
    expect(text.trim()).toBe('The beacon is painted.');
    expect(sections.map(({ heading }) => heading)).toEqual(['Guide']);
  });

  it('is given up when it takes too long, and leaves the process free meanwhile', async () => {
    const slow = createTextExtractor({ timeoutMs: 1_000, heapMb: 256 });
    let ticks = 0;
    const ticking = setInterval(() => (ticks += 1), 20);
    await expect(
      slow.extract(sourceOf({ tenantId: 'a', mediaType: 'text/html', content: slowPage }), never),
    ).rejects.toBeInstanceOf(ExtractionFailure);
    clearInterval(ticking);
    expect(ticks).toBeGreaterThan(10);
  });

  it('stops when it is aborted', async () => {
    const stop = new AbortController();
    const reading = extractor.extract(
      sourceOf({ tenantId: 'a', mediaType: 'text/html', content: slowPage }),
      stop.signal,
    );
    stop.abort(new Error('stopped'));
    await expect(reading).rejects.toThrow('stopped');
  });
});

describe('a document of any length', () => {
  // Up to 16 KiB it is sent with its request; up to four parts of 200,000 characters come back in one message.
  it.each([1, 16_384, 16_385, 600_000, 600_001, 1_500_000])(
    'of %i bytes comes back whole',
    async (length) => {
      const content = 'All of it, in order. '.repeat(Math.ceil(length / 21)).slice(0, length);
      const { text, chunks } = await extract('text/plain', content);
      expect(text).toBe(content);
      expect(chunks.every((chunk) => chunk.text === content.slice(chunk.start, chunk.end))).toBe(true);
      expect(chunks.at(-1)?.end).toBe(content.trimEnd().length);
    },
  );
});

describe('chunkText', () => {
  const pieces = fc.array(
    fc.oneof(
      fc.constantFrom('# One\n', '## Two\n\n', '\n\n', '. ', '```\n', '\ud83d\ude00', '\0', '\ufffd', '\r\n'),
      fc.string({ unit: 'binary', maxLength: 60 }),
      fc.lorem({ mode: 'sentences', maxCount: 4 }),
      fc.constant('🚀'.repeat(1_500)),
    ),
    { maxLength: 30 },
  );

  it('keeps a chunk short where a run of single characters meets a sentence', async () => {
    const extracted = await extract(
      'text/plain',
      `${'🚀'.repeat(1_000)}Elementum morbi nulla. Pede suscipit.`,
    );
    const chunks = chunkText(extracted);
    expect(Math.max(...chunks.map((chunk) => Array.from(chunk.text).length))).toBeLessThanOrEqual(1_000);
    expect(chunks.map((chunk) => chunk.text).join('')).toContain('Elementum morbi nulla.');
  });

  it('cuts chunks that are slices of the text, whole in their characters, short, and in order', async () => {
    await fc.assert(
      fc.asyncProperty(
        pieces,
        fc.constantFrom<DocumentMediaType>('text/plain', 'text/markdown'),
        async (parts, type) => {
          // Content with control characters is not text.
          const content = Array.from(parts.join('')).filter((each) => each >= ' ' || /\s/.test(each));
          const extracted = await extract(type, content.join(''));
          let last = 0;
          for (const chunk of chunkText(extracted)) {
            expect(extracted.text.slice(chunk.start, chunk.end)).toBe(chunk.text);
            expect(chunk.text.isWellFormed()).toBe(true);
            expect(chunk.text).not.toContain('\0');
            expect(Array.from(chunk.text).length).toBeLessThanOrEqual(1_000);
            expect(chunk.start).toBeGreaterThanOrEqual(last);
            last = chunk.end;
          }
        },
      ),
      { numRuns: 150 },
    );
  });

  it('loses no word of the text below the headings', async () => {
    const body = Array.from({ length: 400 }, (_, n) => `Sentence number ${n} tells something.`).join(' ');
    const chunks = chunkText(await extract('text/plain', body));
    expect(chunks.length).toBeGreaterThan(10);
    expect(
      chunks
        .map(({ text }) => text)
        .join(' ')
        .split(/\s+/),
    ).toEqual(body.split(/\s+/));
    expect(chunks.every(({ text }) => text.endsWith('.'))).toBe(true);
  });
});
