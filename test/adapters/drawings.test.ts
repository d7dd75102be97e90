import { describe, expect, it } from 'vitest';
import { zipOf } from '../support/zip-writer.ts';
import { extractor } from '../support/extractor.ts';

const types = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships';

/** The sections of a package of these parts, each as its anchor and its text. */
async function sectionsOf(parts: Record<string, string>, change = (file: Buffer) => file) {
  const file = change(zipOf(Object.entries(parts).map(([name, content]) => ({ name, content }))));
  const source = {
    tenantId: 'a',
    read: () => Promise.resolve({ mediaType: 'text/plain' as const, content: file }),
  };
  const { text, sections } = await extractor.extract(source, new AbortController().signal);
  return sections.map(({ heading, anchor, start, end }) => [heading, anchor, text.slice(start, end)]);
}

const relations = (...targets: [id: string, type: string, target: string][]) =>
  `<Relationships>${targets.map(([id, type, target]) => `<Relationship Id="${id}" Type="${types}/${type}" Target="${target}"/>`).join('')}</Relationships>`;
const shape = (text: string) =>
  `<xdr:sp><xdr:txBody><a:p><a:r><a:t>${text}</a:t></a:r></a:p></xdr:txBody></xdr:sp>`;
const points = (values: string[]) =>
  values.map((value, index) => `<c:pt idx="${index}"><c:v>${value}</c:v></c:pt>`).join('');
const chart =
  '<c:chartSpace><c:chart><c:title><a:p><a:r><a:t>Ships</a:t></a:r></a:p></c:title><c:plotArea><c:ser>' +
  `<c:tx><c:strCache>${points(['Halden'])}</c:strCache></c:tx><c:cat>${points(['Spring', 'Autumn'])}</c:cat>` +
  `<c:val>${points(['8.1999999999999993', '3'])}</c:val></c:ser></c:plotArea></c:chart></c:chartSpace>`;

const workbook = (drawing: string) => ({
  'xl/workbook.xml': '<workbook><sheets><sheet name="Port" sheetId="1" r:id="r1"/></sheets></workbook>',
  'xl/_rels/workbook.xml.rels': relations(['r1', 'worksheet', 'worksheets/sheet1.xml']),
  'xl/worksheets/sheet1.xml':
    '<worksheet><sheetData><row r="1"><c r="A1"><v>7</v></c></row></sheetData></worksheet>',
  'xl/worksheets/_rels/sheet1.xml.rels': relations(['r1', 'drawing', '../drawings/drawing1.xml']),
  'xl/drawings/drawing1.xml': drawing,
  'xl/drawings/_rels/drawing1.xml.rels': relations(['r1', 'chart', '../charts/chart1.xml']),
  'xl/charts/chart1.xml': chart,
});

describe('a workbook', () => {
  it('has the text boxes and charts of each sheet', async () => {
    expect(await sectionsOf(workbook(`<xdr:wsDr>${shape('Painted blue')}</xdr:wsDr>`))).toEqual([
      ['Port', 'Port!A1', '7'],
      ['Port', 'Port › drawings', 'Painted blue\nShips\nHalden: Spring 8.2; Autumn 3'],
    ]);
  });

  it('has each text once where a shape has another form for older programs, and all that follows', async () => {
    const alternative =
      `<mc:AlternateContent><mc:Choice>${shape('equation')}</mc:Choice>` +
      `<mc:Fallback>${shape('image')}${shape('of it')}</mc:Fallback></mc:AlternateContent>`;
    const table =
      '<xdr:graphicFrame><a:tbl><a:tr><a:tc><a:p><a:r><a:t>cell</a:t></a:r></a:p></a:tc></a:tr></a:tbl></xdr:graphicFrame>';
    const drawing = `${shape('one')}${alternative}${shape('two')}${shape('three')}${table}`;
    const sections = await sectionsOf(workbook(`<xdr:wsDr>${drawing}</xdr:wsDr>`));
    expect(sections[1]?.[2]).toMatch(/^one\nequation\ntwo\nthree\ncell\nShips/);
  });

  it('is read although a drawing is broken', async () => {
    const sections = await sectionsOf(workbook('<xdr:wsDr><xdr:sp>'));
    expect(sections[0]).toEqual(['Port', 'Port!A1', '7']);
  });

  it('is read where its names have backslashes and another case, and bytes follow its end', async () => {
    const parts = Object.entries(workbook('<xdr:wsDr/>')).map(([name, content]) => [
      name.replaceAll('/', '\\').replace('sheet1', 'Sheet1'),
      content,
    ]);
    const sections = await sectionsOf(Object.fromEntries(parts) as Record<string, string>, (file) =>
      Buffer.concat([file, Buffer.from('\r\n')]),
    );
    expect(sections[0]).toEqual(['Port', 'Port!A1', '7']);
  });
});

describe('a presentation', () => {
  it('has a line for each row of a table, which is no part of the title', async () => {
    const cell = (text: string) =>
      `<a:tc><a:txBody><a:p><a:r><a:t>${text}</a:t></a:r></a:p></a:txBody></a:tc>`;
    const row = (...texts: string[]) => `<a:tr>${texts.map(cell).join('')}</a:tr>`;
    const sections = await sectionsOf({
      'ppt/presentation.xml': '<p:presentation><p:sldId id="256" r:id="r1"/></p:presentation>',
      'ppt/_rels/presentation.xml.rels': relations(['r1', 'slide', 'slides/slide1.xml']),
      'ppt/slides/_rels/slide1.xml.rels': relations(['r1', 'chart', '../charts/chart1.xml']),
      'ppt/charts/chart1.xml': chart,
      'ppt/slides/slide1.xml':
        '<p:sld><p:sp><p:ph type="title"/><a:p><a:r><a:t>Harbours</a:t></a:r></a:p></p:sp><p:graphicFrame><a:tbl>' +
        `${row('Port', 'Depth')}${row('Halden', '12 m')}</a:tbl></p:graphicFrame></p:sld>`,
    });
    expect(sections).toEqual([
      ['Harbours', 'slide 1', 'Harbours\nPort\tDepth\nHalden\t12 m\nShips\nHalden: Spring 8.2; Autumn 3'],
    ]);
  });
});

describe('a document of Word', () => {
  it('has the text of its charts', async () => {
    const sections = await sectionsOf({
      'word/document.xml': '<w:document><w:p><w:r><w:t>Report</w:t></w:r></w:p></w:document>',
      'word/_rels/document.xml.rels': relations(['r1', 'chart', 'charts/chart1.xml']),
      'word/charts/chart1.xml': chart,
    });
    expect(sections).toContainEqual([null, 'graphics', 'Ships\nHalden: Spring 8.2; Autumn 3']);
  });
});

describe('an OpenDocument file', () => {
  const comment = (text: string) =>
    `<office:annotation><dc:creator>Ada</dc:creator><text:p>${text}</text:p></office:annotation>`;
  const file = (kind: string, body: string, parts: Record<string, string> = {}) => ({
    mimetype: `application/vnd.oasis.opendocument.${kind}`,
    'content.xml': `<office:document-content><office:body><office:${kind}>${body}</office:${kind}></office:body></office:document-content>`,
    ...parts,
  });
  const formula =
    '<math><mi>E</mi><mo>=</mo><mi>m</mi><annotation encoding="StarMath 5.0">E = m</annotation></math>';
  const chartObject =
    '<office:body><office:chart><chart:title><text:p>Ships</text:p></chart:title><table:table><table:table-row>' +
    '<table:table-cell><text:p>Halden</text:p></table:table-cell><table:table-cell><text:p>8</text:p></table:table-cell>' +
    '</table:table-row></table:table></office:chart></office:body>';

  it('of text has headers, footers, comments and formulas', async () => {
    const styles =
      '<style:master-page><style:header><text:p>Port of Halden</text:p></style:header>' +
      '<style:footer><text:p>Page <text:page-number>1</text:page-number></text:p></style:footer></style:master-page>';
    const body = `<text:p>Here ${comment('Is it?')}<draw:frame><draw:object xlink:href="./Object 1"/></draw:frame> holds.</text:p>`;
    expect(
      await sectionsOf(file('text', body, { 'styles.xml': styles, 'Object 1/content.xml': formula })),
    ).toEqual([
      [null, null, 'Here E = m holds.'],
      [null, 'header', 'Port of Halden'],
      [null, 'comments', 'Is it?'],
      [null, 'footer', 'Page'],
    ]);
  });

  it('is read although an embedded object is broken', async () => {
    const body = '<text:p>Here</text:p><draw:object xlink:href="./Object 1"/>';
    expect(await sectionsOf(file('text', body, { 'Object 1/content.xml': '<math><mi>' }))).toEqual([
      [null, null, 'Here'],
    ]);
  });

  it('of sheets has comments and charts beside the cells', async () => {
    const body =
      '<table:table table:name="Port"><table:shapes><draw:frame><draw:object xlink:href="./Object 1"/></draw:frame>' +
      `</table:shapes><table:table-row><table:table-cell>${comment('Deep?')}<text:p>7</text:p></table:table-cell>` +
      '</table:table-row></table:table>';
    expect(await sectionsOf(file('spreadsheet', body, { 'Object 1/content.xml': chartObject }))).toEqual([
      ['Port', 'Port!A1', '7'],
      ['Port', 'Port › comments', 'Deep?'],
      ['Port', 'Port › drawings', 'Ships\nHalden\t8'],
    ]);
  });

  it('of slides has the charts of each slide', async () => {
    const body = '<draw:page><draw:frame><draw:object xlink:href="./Object 1"/></draw:frame></draw:page>';
    expect(await sectionsOf(file('presentation', body, { 'Object 1/content.xml': chartObject }))).toEqual([
      [null, 'slide 1', 'Ships\nHalden\t8'],
    ]);
  });
});
