import { describe, expect, it } from 'vitest';
import { DocxNumbering } from '#adapters/knowledge/formats/docx-numbering.ts';
import { paragraphsOf } from '#adapters/knowledge/formats/docx-paragraphs.ts';
import { readDocxStyles } from '#adapters/knowledge/formats/docx-styles.ts';
import { OpenDocumentReader } from '#adapters/knowledge/formats/open-document-reader.ts';
import { readXml } from '#adapters/knowledge/formats/xml-reader.ts';
import { extractor } from '../support/extractor.ts';
import { expectLinear } from '../support/growth.ts';
import { zipOf } from '../support/zip-writer.ts';

const styles = readDocxStyles(
  '<w:styles><w:style w:type="table" w:styleId="Plain"/>' +
    '<w:style w:type="table" w:styleId="List"><w:tblStylePr w:type="firstRow"><w:rPr><w:b/></w:rPr></w:tblStylePr></w:style>' +
    '<w:style w:type="table" w:styleId="Own"><w:basedOn w:val="List"/></w:style></w:styles>',
);
function wordLines(body: string): string[] {
  const xml = `<w:document><w:body>${body}</w:body></w:document>`;
  return paragraphsOf(xml, { styles, numbering: new DocxNumbering('') }).map(({ text }) => text);
}
const wordTable = (rows: string, style = '') => `<w:tbl><w:tblPr>${style}</w:tblPr>${rows}</w:tbl>`;
const wordCell = (text: string, properties = '', run = '') =>
  `<w:tc><w:tcPr>${properties}</w:tcPr><w:p><w:r><w:rPr>${run}</w:rPr><w:t>${text}</w:t></w:r></w:p></w:tc>`;
const wordRow = (cells: readonly string[], properties = '') =>
  `<w:tr><w:trPr>${properties}</w:trPr>${cells.join('')}</w:tr>`;
const plainRow = (...texts: string[]) => wordRow(texts.map((text) => wordCell(text)));
const headRow = (...texts: string[]) =>
  wordRow(
    texts.map((text) => wordCell(text)),
    '<w:tblHeader/>',
  );
const boldRow = (...texts: string[]) => wordRow(texts.map((text) => wordCell(text, '', '<w:b/>')));
const look = '<w:tblLook w:val="04A0" w:firstRow="1"/>';

function openLines(body: string): string[] {
  const reader = new OpenDocumentReader(new Map());
  readXml(
    `<office:document-content><office:body><office:text>${body}</office:text></office:body></office:document-content>`,
    reader,
  );
  return reader.paragraphs.map(({ text }) => text).filter((text) => text !== '');
}
const openCell = (text: string, attributes = '') =>
  `<table:table-cell ${attributes}><text:p>${text}</text:p></table:table-cell>`;
const openRow = (...texts: string[]) =>
  `<table:table-row>${texts.map((text) => openCell(text)).join('')}</table:table-row>`;
const openTable = (rows: string) => `<table:table table:name="A">${rows}</table:table>`;
const openHead = (rows: string) => `<table:table-header-rows>${rows}</table:table-header-rows>`;

const ports = ['Name: Halden; Depth: 12 m', 'Name: Moss; Depth: 9 m'];

describe('a table of DOCX', () => {
  it.each([
    [
      'are repeated on each page',
      wordTable(headRow('Name', 'Depth') + plainRow('Halden', '12 m') + plainRow('Moss', '9 m')),
    ],
    [
      'have a style of their own',
      wordTable(
        plainRow('Name', 'Depth') + plainRow('Halden', '12 m') + plainRow('Moss', '9 m'),
        `<w:tblStyle w:val="Own"/>${look}`,
      ),
    ],
    [
      'alone are bold',
      wordTable(boldRow('Name', 'Depth') + plainRow('Halden', '12 m') + plainRow('Moss', '9 m')),
    ],
  ])('has the names of its columns in each row, where they %s', (_, table) => {
    expect(wordLines(`<w:p><w:r><w:t>Before.</w:t></w:r></w:p>${table}`)).toEqual(['Before.', ...ports]);
  });

  it('has them where a column holds numbers', () => {
    const rows =
      plainRow('Name', 'Depth', 'Kind') +
      plainRow('Halden', '12 m', 'Port') +
      plainRow('Moss', '9 m', 'Quay');
    expect(wordLines(wordTable(rows))).toEqual([
      'Name: Halden; Depth: 12 m; Kind: Port',
      'Name: Moss; Depth: 9 m; Kind: Quay',
    ]);
  });

  it('has cells of several rows and columns in each of them', () => {
    const rows =
      headRow('Name', 'Depth', 'Kind') +
      wordRow([wordCell('Halden', '<w:vMerge w:val="restart"/>'), wordCell('12 m'), wordCell('Port')]) +
      wordRow([wordCell('', '<w:vMerge/>'), wordCell('closed', '<w:gridSpan w:val="2"/>')]) +
      wordRow([wordCell('Moss', '<w:vMerge w:val="restart"/>'), wordCell('9 m'), wordCell('Quay')]) +
      wordRow([wordCell('7 m'), wordCell('Pier')], '<w:gridBefore w:val="1"/>');
    expect(wordLines(wordTable(rows))).toEqual([
      'Name: Halden; Depth: 12 m; Kind: Port',
      'Name: Halden; Depth: closed; Kind: closed',
      'Name: Moss; Depth: 9 m; Kind: Quay',
      'Depth: 7 m; Kind: Pier',
    ]);
  });

  it.each([
    ['no names', plainRow('Halden', '12 m') + plainRow('Moss', '9 m') + plainRow('Horten', '7 m'), ''],
    [
      'properties and their values',
      boldRow('Name', 'Halden') + boldRow('Depth', '12 m') + boldRow('Kind', 'Port'),
      '',
    ],
    [
      'a style that its first row does not use',
      plainRow('a', 'b') + plainRow('c', 'd'),
      '<w:tblStyle w:val="List"/><w:tblLook w:val="0480" w:firstRow="0"/>',
    ],
    ['a style without names', plainRow('a', 'b') + plainRow('c', 'd'), `<w:tblStyle w:val="Plain"/>${look}`],
    ['names alone', headRow('a', 'b') + headRow('c', 'd'), ''],
    ['sentences for names', headRow('a'.repeat(120), 'b') + plainRow('c', 'd'), ''],
    [
      'another table in it',
      headRow('a', 'b') + wordRow([wordCell('c'), `<w:tc>${wordTable(plainRow('d'))}</w:tc>`]),
      '',
    ],
  ])('with %s has its cells separated by tabs', (_, rows, style) => {
    const lines = wordLines(wordTable(rows, style));
    expect(lines.length).toBe(rows.split('</w:tr>').length - 1 - (rows.includes('<w:tbl>') ? 1 : 0));
    expect(lines.every((line) => line.includes('\t') && !/: |; /.test(line))).toBe(true);
  });

  it('of many pages has them in every passage', async () => {
    const rows = Array.from({ length: 200 }, (_, n) => plainRow(`Port ${n}`, `${n} m`)).join('');
    const content = zipOf([
      {
        name: 'word/document.xml',
        content: `<w:document><w:body>${wordTable(headRow('Name', 'Depth') + rows)}</w:body></w:document>`,
      },
    ]);
    const source = {
      tenantId: 'a',
      read: () => Promise.resolve({ mediaType: 'text/plain' as const, content }),
    };
    const { chunks } = await extractor.extract(source, new AbortController().signal);
    expect(chunks.length).toBeGreaterThan(2);
    expect(chunks.find(({ text }) => text.includes('Port 199'))?.text).toContain(
      'Name: Port 199; Depth: 199 m',
    );
  });
});

describe('a table of ODT', () => {
  it('has the names of its columns in each row', () => {
    const table = openTable(
      openHead(openRow('Name', 'Depth')) + openRow('Halden', '12 m') + openRow('Moss', '9 m'),
    );
    expect(openLines(`<text:p>Before.</text:p>${table}<text:p>After.</text:p>`)).toEqual([
      'Before.',
      ...ports,
      'After.',
    ]);
  });

  it('has cells of several rows and columns in each of them', () => {
    const covered = '<table:covered-table-cell/>';
    const rows =
      `<table:table-row>${openCell('Halden', 'table:number-rows-spanned="2"')}${openCell('12 m')}${openCell('Port')}</table:table-row>` +
      `<table:table-row>${covered}${openCell('closed', 'table:number-columns-spanned="2"')}${covered}</table:table-row>`;
    expect(openLines(openTable(openHead(openRow('Name', 'Depth', 'Kind')) + rows))).toEqual([
      'Name: Halden; Depth: 12 m; Kind: Port',
      'Name: Halden; Depth: closed; Kind: closed',
    ]);
  });

  it.each([
    ['no names', openTable(openRow('Halden', '12 m') + openRow('Moss', '9 m'))],
    [
      'text behind another cell',
      openTable(
        `${openHead(openRow('a', 'b'))}<table:table-row>${openCell('c', 'table:number-columns-spanned="2"')}<table:covered-table-cell><text:p>d</text:p></table:covered-table-cell></table:table-row>`,
      ),
    ],
  ])('with %s has its cells separated by tabs', (_, table) => {
    const lines = openLines(table);
    expect(lines).toHaveLength(2);
    expect(lines.every((line) => line.includes('\t'))).toBe(true);
  });
});

describe('hostile spans', () => {
  const merged = wordCell('a', '<w:gridSpan w:val="1000000"/><w:vMerge w:val="restart"/>');
  const more = wordCell('', '<w:gridSpan w:val="1000000"/><w:vMerge/>');
  const spanning = openCell(
    'a',
    'table:number-columns-spanned="1000000" table:number-rows-spanned="1000000"',
  );
  const repeated = '<table:table-cell table:number-columns-repeated="1000000"/>';
  it.each<[string, (size: number) => string, (xml: string) => unknown]>([
    [
      'DOCX in every cell',
      (size) => wordTable(headRow('a', 'b') + wordRow([merged, more]).repeat(size / 200)),
      wordLines,
    ],
    [
      'DOCX in one row',
      (size) =>
        wordTable(
          headRow('a', 'b') + wordRow([merged.repeat(size / 200)]) + wordRow([more.repeat(size / 200)]),
        ),
      wordLines,
    ],
    [
      'DOCX of names',
      (size) =>
        wordTable(
          wordRow([wordCell('a'.repeat(90)), merged], '<w:tblHeader/>').repeat(size / 400) +
            plainRow('b', 'c').repeat(size / 400),
        ),
      wordLines,
    ],
    [
      'DOCX of tables',
      (size) => wordTable(headRow('a', 'b') + plainRow('c', 'd')).repeat(size / 400),
      wordLines,
    ],
    [
      'ODT in every cell',
      (size) =>
        openTable(
          openHead(openRow('a', 'b')) +
            `<table:table-row>${spanning}${repeated}</table:table-row>`.repeat(size / 200),
        ),
      openLines,
    ],
    [
      'ODT in one row',
      (size) =>
        openTable(
          `${openHead(openRow('a', 'b'))}<table:table-row>${(spanning + repeated).repeat(size / 200)}</table:table-row>${openRow('c', 'd').repeat(size / 200)}`,
        ),
      openLines,
    ],
  ])('take linear time: %s', (name, make, work) => {
    expectLinear(name, { make, work, size: 200_000 });
  });
});
