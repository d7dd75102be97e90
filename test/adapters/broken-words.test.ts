import { describe, expect, it } from 'vitest';
import { joinPages } from '#adapters/knowledge/formats/join-lines.ts';
import type { DocumentMediaType } from '#domain/knowledge/collections/document-status.ts';
import { sourceOf } from '../support/document-source.ts';
import { expectLinear } from '../support/growth.ts';
import { pdfPage } from '../support/pdf-page.ts';
import { extractor } from '../support/extractor.ts';

async function textOf(mediaType: DocumentMediaType, content: string): Promise<string> {
  const source = sourceOf({ tenantId: 'a', mediaType, content });
  return (await extractor.extract(source, new AbortController().signal)).text.trim();
}
const joined = (...lines: string[]) => joinPages([lines])[0];

describe('a word that is broken at the end of a line', () => {
  it('is whole again in a page of a PDF file', async () => {
    const lines = ['Rules of a market-', 'based policy, for exam-', 'ple a market-based tax.'];
    const content = lines.map((line, at) => `BT /F1 12 Tf 20 ${700 - at * 14} Td (${line}) Tj ET`).join('\n');
    expect(await textOf('application/pdf', pdfPage(content))).toBe(
      'Rules of a market-based policy, for example a market-based tax.',
    );
  });

  it.each([
    ['exam-|ple', '', 'example'],
    ['market-|based', 'Prices are market-based.', 'market-based'],
    ['market-|based', 'A market for rules-based trade.', 'market-based'],
    ['decision-|making', 'A decision is in the making.', 'decision-making'],
    ['work-|shop', 'The workshop is at work in a shop; a work-shop is not.', 'workshop'],
    ['state-of-the-|art', 'It is state-of-the-art.', 'state-of-the-art'],
    ['non-govern-|mental', 'Our governmental tasks.', 'non-governmental'],
    ['Haus-|tür', 'Eine Tür im Haus.', 'Haustür'],
    ['COVID-|19', 'It is COVID-19.', 'COVID-19'],
    ['INTRO-|DUCTION', 'The introduction.', 'INTRODUCTION'],
    ['a 10-|year term', '', 'a 10-year term'],
    ['pre- and post-|war', '', 'pre- and postwar'],
    ['short-|and long-term', '', 'short- and long-term'],
    ['at https://example.org/market-|report/a', '', 'at https://example.org/market-report/a'],
    ['ada@north-|pier.example', '', 'ada@north-pier.example'],
    ['in 2019-|2020 it', '', 'in 2019-\n2020 it'],
    ['aged 20-|24 years', 'In 2024 it was 2024.', 'aged 20-\n24 years'],
    ['aged 20-|24 years', 'Those aged 20-24.', 'aged 20-24 years'],
    ['pages 19-|45', 'In 1945.', 'pages 19-\n45'],
    ['grades A-|B', 'Type AB.', 'grades A-\nB'],
    ['Halden-|North', '', 'Halden-\nNorth'],
    ['exam\u00AD|ple', '', 'example'],
    ['Halden\u00AD|North', '', 'HaldenNorth'],
    ['exam\u2010|ple', '', 'example'],
    ['item -|an aside', '', 'item - an aside'],
  ])('%s, where the document has %j, is %j', (broken, elsewhere, whole) => {
    expect(joinPages([broken.split('|'), [elsewhere]])[0]).toBe(whole);
  });

  it('is not evidence of its own halves', () => {
    expect(joined('market-', 'based', 'market-', 'based')).toBe('marketbased marketbased');
  });
});

it.each<[DocumentMediaType, string]>([
  ['text/plain', 'An exam\u00ADple.'],
  ['text/html', '<p>An exam&shy;ple.</p>'],
  ['message/rfc822', 'From: a@b.example\nSubject: S\nMIME-Version: 1.0\n\nAn exam\u00ADple.'],
])('a soft hyphen does not divide a word of %s', async (mediaType, content) => {
  expect(await textOf(mediaType, content)).toContain('An example.');
});

it.each(['a-', 'ab-\u00AD', '-', 'a-b-', 'a.b-', '\u00AD'])('takes linear time for lines of %j', (unit) => {
  expectLinear(unit, {
    make: (size) => Array.from({ length: size / 40 }, () => unit.repeat(40 / unit.length)),
    work: (lines) => joinPages([lines, [lines.join('')]]),
    size: 80_000,
  });
});
