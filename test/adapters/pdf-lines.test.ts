import { describe, expect, it } from 'vitest';
import { linesOf, type TextRun } from '#adapters/knowledge/formats/pdf-lines.ts';
import { sourceOf } from '../support/document-source.ts';
import { pdfPage } from '../support/pdf-page.ts';
import { countThreadMs } from '../support/thread-time.ts';
import { extractor } from '../support/extractor.ts';

/** Texts at their places, in points from the lower left corner. */
async function textOf(...texts: [text: string, x: number, y: number, size: number][]): Promise<string> {
  const content = texts
    .map(([text, x, y, size]) => `BT /F1 ${size} Tf 1 0 0 1 ${x} ${y} Tm (${text}) Tj ET`)
    .join('\n');
  const source = sourceOf({ tenantId: 'a', mediaType: 'application/pdf', content: pdfPage(content) });
  return (await extractor.extract(source, new AbortController().signal)).text.trim();
}

describe('the text of a page', () => {
  it('keeps a page number apart from a footer that is drawn after it, to its left', async () => {
    expect(await textOf(['2', 560, 12, 8], ['Keeper of Halden', 20, 13, 10])).toBe('2\nKeeper of Halden');
  });

  it('keeps words of other fonts apart where a gap shows between them', async () => {
    expect(await textOf(['Halden', 20, 500, 12], ['beacon', 70, 500, 10])).toBe('Halden beacon');
    expect(await textOf(['H', 20, 500, 14], ['ALDEN', 30.1, 500, 10])).toBe('HALDEN');
  });

  it('does not glue the number of a note to the word before it', async () => {
    expect(await textOf(['Resilience', 20, 500, 12], ['3', 76, 505, 7])).toBe('Resilience 3');
    expect(await textOf(['1', 20, 505, 7], ['Harbour', 24, 500, 12])).toBe('1 Harbour');
  });

  it('leaves units and indexes whole', async () => {
    expect(await textOf(['m', 20, 500, 12], ['2', 30, 505, 7])).toBe('m2');
    expect(await textOf(['CO', 20, 500, 12], ['2', 38, 498, 7])).toBe('CO2');
  });

  it('has once what is drawn twice to look bold', async () => {
    expect(await textOf(['Beacon', 20, 500, 12], ['Beacon', 20.3, 500, 12])).toBe('Beacon');
  });

  it('keeps letters that look alike but stand side by side', async () => {
    expect(await textOf(['Bell', 20, 500, 12], ['ll', 40, 500, 12])).toBe('Bellll');
  });

  it.each([
    ['90ms-RKSJ-H', 'Japan1', '82a082a282a4', 'あいう'],
    ['UniGB-UCS2-H', 'GB1', '706f5854', '灯塔'],
    ['KSCms-UHC-H', 'Korea1', 'b5eeb4eb', '등대'],
  ])('is read in fonts of %s that are not part of the file', async (encoding, ordering, bytes, text) => {
    const content = `BT /F1 12 Tf 20 500 Td <${bytes}> Tj ET`;
    const page = pdfPage(content, [
      `<< /Type /Font /Subtype /Type0 /BaseFont /Plain /Encoding /${encoding} /DescendantFonts [6 0 R] >>`,
      `<< /Type /Font /Subtype /CIDFontType0 /BaseFont /Plain /FontDescriptor 7 0 R /CIDSystemInfo << /Registry (Adobe) /Ordering (${ordering}) /Supplement 0 >> >>`,
      '<< /Type /FontDescriptor /FontName /Plain /Flags 4 /FontBBox [0 0 1000 1000] /ItalicAngle 0 /Ascent 800 /Descent -200 /CapHeight 700 /StemV 80 >>',
    ]);
    const source = sourceOf({ tenantId: 'a', mediaType: 'application/pdf', content: page });
    expect((await extractor.extract(source, new AbortController().signal)).text.trim()).toBe(text);
  });

  it('keeps a Latin word apart from the Arabic one beside it', () => {
    const run = (str: string, dir: string, x: number, width: number): TextRun => ({
      str,
      dir,
      width,
      hasEOL: false,
      transform: [12, 0, 0, 12, x, 500],
    });
    const runs = [run('لغة', 'rtl', 200, 20), run('Python', 'ltr', 160, 40), run('من', 'rtl', 145, 14.9)];
    expect(linesOf(runs)).toEqual(['لغة Python من']);
  });

  it('takes time that grows with the length of a line alone', () => {
    const runs = Array.from({ length: 40_000 }, (_, at): TextRun => ({
      str: 'word',
      dir: 'ltr',
      width: 4,
      hasEOL: false,
      transform: [12, 0, 0, 12, at * 10, 500],
    }));
    const spentMs = countThreadMs();
    expect(linesOf(runs)).toEqual([Array<string>(40_000).fill('word').join(' ')]);
    expect(spentMs()).toBeLessThan(2_000);
  });
});
