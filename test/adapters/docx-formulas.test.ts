import { expect, it } from 'vitest';
import { FormulaText } from '#adapters/knowledge/formats/formula-text.ts';
import { expectLinear } from '../support/growth.ts';
import { zipOf } from '../support/zip-writer.ts';
import { extractor } from '../support/extractor.ts';

async function textOf(paragraphs: string): Promise<string> {
  const document = `<w:document xmlns:w="w" xmlns:m="m"><w:body>${paragraphs}</w:body></w:document>`;
  const content = zipOf([{ name: 'word/document.xml', content: document }]);
  const source = {
    tenantId: 'a',
    read: () => Promise.resolve({ mediaType: 'text/plain' as const, content }),
  };
  return (await extractor.extract(source, new AbortController().signal)).text.trim();
}
const run = (text: string) => `<m:r><m:t>${text}</m:t></m:r>`;
const fraction = (above: string, below: string) =>
  `<m:f><m:num>${above}</m:num><m:den>${below}</m:den></m:f>`;
const power = (base: string, exponent: string) =>
  `<m:sSup><m:e>${base}</m:e><m:sup>${exponent}</m:sup></m:sSup>`;

it.each([
  [`${run('A=π')}${power(run('r'), run('2'))}`, 'A=πr^2'],
  [fraction(run('1'), run('2')), '1/2'],
  [
    `${run('x=')}${fraction(`${run('-b±')}<m:rad><m:e>${power(run('b'), run('2'))}${run('-4ac')}</m:e></m:rad>`, run('2a'))}`,
    'x=(-b±√(b^2-4ac))/(2a)',
  ],
  [`${run('f')}<m:d><m:e>${run('x')}</m:e></m:d>`, 'f(x)'],
  [
    `<m:nary><m:naryPr><m:chr m:val="∑"/></m:naryPr><m:sub>${run('n=1')}</m:sub><m:sup>${run('∞')}</m:sup><m:e>${run('n')}</m:e></m:nary>`,
    '∑_(n=1)^∞n',
  ],
])('a formula keeps its form: %s', async (formula, text) => {
  expect(await textOf(`<w:p><m:oMath>${formula}</m:oMath></w:p>`)).toBe(text);
});

it('two formulas of a paragraph stay apart', async () => {
  const text = await textOf(`<w:p><m:oMath>${run('a=b')}</m:oMath><m:oMath>${run('c=d')}</m:oMath></w:p>`);
  expect(text).toMatch(/^a=b\s+c=d$/);
});

it('a large first letter is part of its word', async () => {
  const initial =
    '<w:p><w:pPr><w:framePr w:dropCap="drop" w:lines="3"/></w:pPr><w:r><w:t>H</w:t></w:r></w:p>';
  expect(await textOf(`${initial}<w:p><w:r><w:t>alden is a port.</w:t></w:r></w:p>`)).toBe(
    'Halden is a port.',
  );
});

it('takes linear time', () => {
  const work = (parts: string[]) => {
    const formula = new FormulaText();
    const text: string[] = [];
    for (const part of parts) {
      formula.open('sup', () => new Map(), text);
      text.push(part);
      if (text.length % 2 === 0) formula.close('sup', text);
    }
    for (const _ of parts) formula.close('sup', text);
  };
  expectLinear('A formula', { make: (size) => Array.from({ length: size }, () => 'a'), work, size: 200_000 });
});
