import { expect, it } from 'vitest';
import { createTextExtractor } from '#adapters/knowledge/text-extractor.ts';
import { zipOf } from '../support/zip-writer.ts';

const extractor = createTextExtractor();
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
  '<w:style w:styleId="Sub"><w:name w:val="Sub"/><w:basedOn w:val="Clause"/></w:style></w:styles>';

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
