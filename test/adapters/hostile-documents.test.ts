import { monitorEventLoopDelay } from 'node:perf_hooks';
import { describe, expect, it } from 'vitest';
import { markdownSections } from '#adapters/knowledge/formats/markdown-sections.ts';
import { createTextExtractor } from '#adapters/knowledge/text-extractor.ts';
import { chunkText } from '#domain/knowledge/ingestion/chunk-text.ts';
import { ExtractionFailure, ExtractorBusy } from '#domain/knowledge/ingestion/document-extractor.ts';
import type { DocumentMediaType } from '#domain/knowledge/collections/document-status.ts';
import { attackStrings, expectLinear } from '../support/growth.ts';
import { sourceOf } from '../support/document-source.ts';

const never = new AbortController().signal;
const slowPage = '<div>'.repeat(5_000);

describe('time grows with the text, whatever it is', () => {
  it.each(Object.entries(attackStrings))('%j is cut into sections and passages', (name, make) => {
    const cut = (text: string) => chunkText({ text, sections: markdownSections(text) });
    const asOne = (text: string) =>
      chunkText({
        text,
        sections: [{ heading: null, page: null, anchor: null, start: 0, end: text.length }],
      });
    expectLinear(`Sections of ${name}`, { make, work: cut, size: 40_000 });
    expectLinear(`Passages of ${name}`, { make, work: asOne, size: 40_000 });
  });

  it('a long title above many sections is not repeated in each of them', () => {
    const make = (size: number) => `# ${'a'.repeat(size)}\n${'## b\nText.\n'.repeat(size / 20)}`;
    expectLinear('A trail of headings', { make, work: markdownSections, size: 40_000 });
  });
});

describe('reading a document', () => {
  it.each<[DocumentMediaType, string]>([
    ['text/plain', `a${' '.repeat(50_000)}b`],
    ['text/markdown', `# ${'['.repeat(60_000)}`],
    ['text/html', `<p>a${' '.repeat(50_000)}b</p>`],
  ])('leaves the event loop free: %s', async (mediaType, content) => {
    const extractor = createTextExtractor();
    await extractor.extract(sourceOf({ tenantId: 'a', mediaType, content: 'First.' }), never);
    const delay = monitorEventLoopDelay({ resolution: 5 });
    delay.enable();
    await extractor.extract(sourceOf({ tenantId: 'a', mediaType, content }), never);
    delay.disable();
    expect(delay.max / 1e6).toBeLessThan(1_500);
  });

  it('that needs more memory than it may have ends with its thread, and the next one is read', async () => {
    const extractor = createTextExtractor({ heapMb: 24 });
    const read = (content: string) =>
      extractor.extract(sourceOf({ tenantId: 'a', mediaType: 'text/markdown', content }), never);
    await expect(read('- - - - x\n'.repeat(60_000))).rejects.toThrow(
      new ExtractionFailure('too_large').message,
    );
    expect((await read('# A\n\nText.')).chunks).toMatchObject([{ heading: 'A', text: 'Text.' }]);
  });

  it('of a tenant with many slow documents does not delay another tenant', async () => {
    const extractor = createTextExtractor();
    const stop = new AbortController();
    let slow = 3;
    const hostile = Array.from({ length: 3 }, () =>
      extractor
        .extract(sourceOf({ tenantId: 'hostile', mediaType: 'text/html', content: slowPage }), stop.signal)
        .catch(() => {})
        .finally(() => (slow -= 1)),
    );
    const { chunks } = await extractor.extract(
      sourceOf({ tenantId: 'other', mediaType: 'text/plain', content: 'Text.' }),
      never,
    );
    expect(chunks).toHaveLength(1);
    expect(slow).toBe(3);
    stop.abort(new Error('stopped'));
    await Promise.all(hostile);
  });

  it('is refused for now when enough documents of its tenant are pending', async () => {
    const extractor = createTextExtractor({ timeoutMs: 1_000, waitersPerKey: 0, waitMs: 50 });
    const read = () =>
      extractor.extract(sourceOf({ tenantId: 'a', mediaType: 'text/html', content: slowPage }), never);
    const all = await Promise.allSettled(Array.from({ length: 6 }, read));
    const reasons = all.map((each) => (each.status === 'rejected' ? each.reason : null));
    expect(reasons.some((reason) => reason instanceof ExtractorBusy)).toBe(true);
    expect(reasons.some((reason) => reason instanceof ExtractionFailure)).toBe(true);
  });
});
