import { expect, it } from 'vitest';
import { DocxNumbering } from '#adapters/knowledge/formats/docx-numbering.ts';
import { countThreadMs } from '../support/thread-time.ts';
import { zipOf } from '../support/zip-writer.ts';
import { extractor } from '../support/extractor.ts';

const relations = ['styles', 'numbering']
  .map((type) => `<Relationship Id="${type}" Type="x/${type}" Target="${type}.xml"/>`)
  .join('');
const level = (index: number, format: string, text: string, style = '') =>
  `<w:lvl w:ilvl="${index}"><w:start w:val="1"/><w:numFmt w:val="${format}"/><w:lvlText w:val="${text}"/>` +
  `${style === '' ? '' : `<w:pStyle w:val="${style}"/>`}</w:lvl>`;
const numbering =
  '<w:numbering><w:num w:numId="7"><w:abstractNumId w:val="1"/></w:num>' +
  `<w:abstractNum w:abstractNumId="1">${level(0, 'decimal', '%1.', 'Clause')}${level(1, 'decimal', '%1.%2', 'Sub')}</w:abstractNum>` +
  `<w:abstractNum w:abstractNumId="2">${level(0, 'lowerRoman', '(%1)')}${level(1, 'bullet', '•')}</w:abstractNum>` +
  '<w:num w:numId="8"><w:abstractNumId w:val="2"/></w:num><w:num w:numId="9"><w:abstractNumId w:val="2"/>' +
  '<w:lvlOverride w:ilvl="0"><w:startOverride w:val="1"/></w:lvlOverride></w:num></w:numbering>';
const styles =
  '<w:styles><w:style w:styleId="Clause"><w:name w:val="heading 1"/><w:pPr><w:numPr><w:numId w:val="7"/></w:numPr></w:pPr></w:style>' +
  '<w:style w:styleId="Sub"><w:name w:val="Sub"/><w:basedOn w:val="Clause"/></w:style>' +
  '<w:style w:styleId="Outer"><w:name w:val="Outer"/><w:pPr><w:numPr><w:ilvl w:val="0"/><w:numId w:val="7"/></w:numPr></w:pPr></w:style></w:styles>';

async function sectionsOf(...paragraphs: [properties: string, text: string][]) {
  const body = paragraphs
    .map(([properties, text]) => `<w:p><w:pPr>${properties}</w:pPr><w:r><w:t>${text}</w:t></w:r></w:p>`)
    .join('');
  const content = zipOf([
    { name: 'word/document.xml', content: `<w:document>${body}</w:document>` },
    { name: 'word/_rels/document.xml.rels', content: `<Relationships>${relations}</Relationships>` },
    { name: 'word/styles.xml', content: styles },
    { name: 'word/numbering.xml', content: numbering },
  ]);
  const source = {
    tenantId: 'a',
    read: () => Promise.resolve({ mediaType: 'text/plain' as const, content }),
  };
  const { text, sections } = await extractor.extract(source, new AbortController().signal);
  return sections.map(({ heading, start, end }) => [heading, text.slice(start, end)]);
}

const style = (name: string) => `<w:pStyle w:val="${name}"/>`;
const item = (list: number, index = 0) =>
  `<w:numPr><w:ilvl w:val="${index}"/><w:numId w:val="${list}"/></w:numPr>`;

it('clauses of a contract have the numbers that Word shows, by their styles', async () => {
  expect(
    await sectionsOf(
      [style('Clause'), 'Harbour'],
      [style('Sub'), 'Depth'],
      [style('Sub'), 'Tide'],
      [style('Clause'), 'Beacon'],
      [style('Sub'), 'Colour'],
      [`${style('Sub')}${item(0)}`, 'Unnumbered'],
    ),
  ).toEqual([
    ['1. Harbour', '1.1 Depth\n1.2 Tide'],
    ['2. Beacon', '2.1 Colour\nUnnumbered'],
  ]);
});

it('lists go on after bullets, and begin once more where they say so', async () => {
  expect(
    await sectionsOf(
      [item(8), 'One'],
      [item(8, 1), 'Bullet'],
      [item(8), 'Two'],
      [item(9), 'Other'],
      [item(9), 'Next'],
    ),
  ).toEqual([[null, '(i) One\nBullet\n(ii) Two\n(i) Other\n(ii) Next']]);
});

it('a former style of a changed paragraph does not count', async () => {
  const change = `<w:pPrChange><w:pPr>${style('Clause')}</w:pPr></w:pPrChange>`;
  expect(await sectionsOf([change, 'Text'])).toEqual([[null, 'Text']]);
});

it('an empty paragraph of a list takes a number and shows none', async () => {
  expect(await sectionsOf([item(8), 'One'], [item(8), ' '], [item(8), 'Three'])).toEqual([
    [null, '(i) One\n(iii) Three'],
  ]);
});

it('the level of a paragraph goes before that of its style', async () => {
  const level = '<w:numPr><w:ilvl w:val="1"/></w:numPr>';
  expect(await sectionsOf([style('Outer'), 'One'], [`${style('Outer')}${level}`, 'Two'])).toEqual([
    [null, '1. One\n1.1 Two'],
  ]);
});

it.each(['10000000', 'Infinity', '-1', '1.5', 'x'])('a level %s is none', async (hostile) => {
  const begun = performance.now();
  const numbers = `${numbering.slice(0, -'</w:numbering>'.length)}<w:abstractNum w:abstractNumId="5"><w:lvl w:ilvl="${hostile}"><w:lvlText w:val="%1"/></w:lvl></w:abstractNum><w:num w:numId="5"><w:abstractNumId w:val="5"/></w:num></w:numbering>`;
  expect(new DocxNumbering(numbers).next('5', Number(hostile))).toBe('');
  expect(
    await sectionsOf([`<w:numPr><w:ilvl w:val="${hostile}"/><w:numId w:val="8"/></w:numPr>`, 'One']),
  ).toEqual([[null, '(i) One']]);
  expect(performance.now() - begun).toBeLessThan(2_000);
});

it('takes time and memory that grow with the definitions alone', () => {
  const many = (count: number, text: (at: number) => string) =>
    Array.from({ length: count }, (_, at) => text(at)).join('');
  const overrides = many(
    20_000,
    (at) => `<w:lvlOverride w:ilvl="${at % 50_000}"><w:startOverride w:val="2"/></w:lvlOverride>`,
  );
  const styled = many(
    20_000,
    (at) => `<w:lvl w:ilvl="${at}"><w:pStyle w:val="s${at}"/><w:lvlText w:val="${'x'.repeat(500)}"/></w:lvl>`,
  );
  const spentMs = countThreadMs();
  const numbers = new DocxNumbering(
    `<w:numbering><w:abstractNum w:abstractNumId="1">${styled}</w:abstractNum><w:num w:numId="1"><w:abstractNumId w:val="1"/>${overrides}</w:num></w:numbering>`,
  );
  for (let at = 0; at < 20_000; at += 1) numbers.levelOf('1', 'unknown');
  expect(numbers.next('1', 0)).toBe('x'.repeat(100));
  expect(spentMs()).toBeLessThan(3_000);
});
