import { describe, expect, it } from 'vitest';
import { readCellStyles } from '#adapters/knowledge/formats/cell-styles.ts';
import { cellText } from '#adapters/knowledge/formats/cell-values.ts';
import { createTextExtractor } from '#adapters/knowledge/text-extractor.ts';
import { expectLinear } from '../support/growth.ts';
import { zipOf } from '../support/zip-writer.ts';
import { extractor } from '../support/extractor.ts';

const escaped = (text: string) =>
  text.replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll('<', '&lt;');
/** A style sheet whose first style has this format, by its number or by its pattern. */
function stylesOf(format: number | string): string {
  const own = typeof format === 'string' ? `<numFmt numFmtId="164" formatCode="${escaped(format)}"/>` : '';
  const id = typeof format === 'string' ? 164 : format;
  return `<styleSheet><numFmts>${own}</numFmts><cellXfs><xf numFmtId="${id}"/></cellXfs></styleSheet>`;
}
/** Styles of different patterns. */
function manyStyles(count: number, unit: string): string {
  const ids = Array.from({ length: count }, (_, n) => 200 + n);
  const own = ids
    .map((id) => `<numFmt numFmtId="${id}" formatCode="${escaped(`0.0 "${unit}${id}"`)}"/>`)
    .join('');
  const uses = ids.map((id) => `<xf numFmtId="${id}"/>`).join('');
  return `<styleSheet><numFmts>${own}</numFmts><cellXfs>${uses}</cellXfs></styleSheet>`;
}
/** A workbook of one number in the first style. */
function workbookOf(styles: string) {
  const rel = (id: string, type: string) =>
    `<Relationship Id="${id}" Type="http://x/${type}" Target="${type}.xml"/>`;
  const content = zipOf([
    {
      name: 'xl/workbook.xml',
      content: '<workbook><sheets><sheet name="Fees" r:id="r1"/></sheets></workbook>',
    },
    {
      name: 'xl/_rels/workbook.xml.rels',
      content: `<Relationships>${rel('r1', 'worksheet')}${rel('r2', 'styles')}</Relationships>`,
    },
    { name: 'xl/styles.xml', content: styles },
    {
      name: 'xl/worksheet.xml',
      content:
        '<worksheet><sheetData><row r="1"><c t="str"><v>Port</v></c><c t="str"><v>Fee</v></c></row>' +
        '<row r="2"><c t="str"><v>Halden</v></c><c s="0"><v>1234.5</v></c></row></sheetData></worksheet>',
    },
  ]);
  return {
    tenantId: 'a',
    read: () => Promise.resolve({ mediaType: 'text/plain' as const, content }),
  };
}
const shown = (value: string, format: number | string, date1904 = false) =>
  cellText(
    value,
    { type: 'n', style: 0 },
    { shared: [], styles: readCellStyles(stylesOf(format), date1904) },
  );

describe('a number is what its cell shows', () => {
  it.each<[string, number | string, string]>([
    ['0.256', 0, '0.256'],
    ['1.1000000000000001', 'General', '1.1'],
    ['0.25', 9, '25%'],
    ['0.1234', 10, '12.34%'],
    ['-0.07', '0.0%;[Red]-0.0%', '-7.0%'],
    ['7', '0" %"', '7 %'],
    ['1234.5', 4, '1,234.50'],
    ['1234.5', '"$"#,##0.00', '$1,234.50'],
    ['1234.5', '_-* #,##0.00\\ "€"_-;-* #,##0.00\\ "€"_-', '1,234.50 €'],
    ['-12.3', '_(* #,##0.00_);_(* \\(#,##0.00\\);_(* "-"??_);_(@_)', '(12.30)'],
    ['12345.678', 11, '1.23E+04'],
    ['1.5', '0.00 "kg"', '1.50 kg'],
    ['42', '00000', '00042'],
    ['1.25', 12, '1 1/4'],
    ['1.5', 46, '36:00:00'],
    ['0.75', 18, '6:00 PM'],
    ['-5', '#,##0.00;[Red]#,##0.00', '-5.00'],
    ['-5', '0.0;[Red]0.00', '-5.00'],
    ['-5', '0;0', '-5'],
    ['-5', '0;"minus "0', 'minus 5'],
    ['-0.001', '0.00', '0.00'],
    ['-0.25', 'h:mm', '-6:00'],
    ['-0.25', 46, '-6:00:00'],
    ['1.234', '#,##0.000\\ [$€-407]', '1.234 €'],
    ['1234.5', '[$CHF-807] #,##0.00', 'CHF 1,234.50'],
    ['1234.5', '[$-407]#,##0.00', '1,234.50'],
    ['5', ';;;', '5'],
    ['5', '[', '5'],
  ])('%s in the format %j is %j', (value, format, text) => {
    expect(shown(value, format)).toBe(text);
  });

  it.each<[string, number | string, string]>([
    ['45000', 14, '2023-03-15'],
    ['45000.5', 22, '2023-03-15 12:00:00'],
    ['45000', 'yyyy-mm-dd', '2023-03-15'],
    ['45000.5', 'yyyy-mm-dd hh:mm', '2023-03-15 12:00'],
    ['45000', 'dd.mm.yyyy', '15.03.2023 (2023-03-15)'],
    ['45000', 15, '15-Mar-23 (2023-03-15)'],
    ['45000', '[$-407]d. mmmm yyyy', '15. März 2023 (2023-03-15)'],
    ['45000', 'mmm yy', 'Mar 23 (2023-03-15)'],
    ['45000', 16, '15-Mar (2023-03-15)'],
    ['45000', 'dddd', 'Wednesday'],
    ['45000.999999999', 'dd.mm.yyyy hh:mm', '15.03.2023 00:00 (2023-03-15)'],
    ['59', 'dd.mm.yyyy', '28.02.1900'],
    ['-1', 'dd.mm.yyyy', '-1'],
  ])('the date %s in the format %j is %j', (value, format, text) => {
    expect(shown(value, format)).toBe(text);
  });

  it('counts days from 1904 where the workbook does', () => {
    expect(shown('43538', 'dd.mm.yyyy', true)).toBe('15.03.2023 (2023-03-15)');
    expect(shown('1.5', '[h]:mm', true)).toBe('36:00');
  });

  it('in a workbook', async () => {
    const source = workbookOf(stylesOf('"NOK" #,##0.00'));
    const { text } = await extractor.extract(source, new AbortController().signal);
    expect(text).toContain('Port: Halden; Fee: NOK 1,234.50');
  });
});
describe('cells beyond the limit of those that patterns show', () => {
  it.each([
    ['0.1234', '0.00%', '12.34%'],
    ['45000', 'dd.mm.yyyy', '2023-03-15'],
    ['45000.5', 'dd.mm.yyyy hh:mm', '2023-03-15 12:00:00'],
    ['0.75', 'h:mm "years"', '18:00:00'],
    ['1234.5', '#,##0.00 "days"', '1234.5'],
  ])('%s in the format %j is %j', (value, format, text) => {
    const styles = readCellStyles(stylesOf(format), false);
    styles.budget.cells = 0;
    expect(cellText(value, { type: 'n', style: 0 }, { shared: [], styles })).toBe(text);
  });

  it('and patterns beyond their limit are plain', () => {
    const styles = readCellStyles(manyStyles(600, 'a'), false);
    const at = (style: number) => cellText('5', { type: 'n', style }, { shared: [], styles });
    expect([at(499), at(500), at(599)]).toEqual(['5.0 a699', '5', '5']);
  });
});

it('the patterns of one tenant do not fill the process of another', async () => {
  const extractor = createTextExtractor({ heapMb: 64, processes: 1, processesPerKey: 1 });
  for (let n = 0; n < 10; n += 1) {
    const source = workbookOf(manyStyles(500, `a"${'\\a'.repeat(110)}" ${n}-`));
    const { text } = await extractor.extract(source, new AbortController().signal);
    expect(text).toContain(`${n}-200`);
  }
});

describe('a hostile format', () => {
  it.each(['"', '#,', '?/', '0.', '_', '*', 'h', '[h]', ';', 'E+', '[<1]', '0', '%'])(
    'of %j alone takes little time',
    (unit) => {
      const pattern = unit.repeat(1_000_000).slice(0, 255);
      const begun = performance.now();
      for (let n = 0; n < 200; n += 1) shown('123.5', pattern);
      expect(performance.now() - begun).toBeLessThan(5_000);
    },
  );

  it('takes no time beyond the cells that are shown by it', () => {
    const styles = readCellStyles(stylesOf('#,##0.00'), false);
    styles.budget.cells = 100;
    const cells = (size: number) => Array.from({ length: size }, (_, n) => String(n));
    const work = (values: string[]) =>
      values.map((value) => cellText(value, { type: 'n', style: 0 }, { shared: [], styles }));
    expectLinear('Cells', { make: cells, work, size: 100_000 });
    expect(work(['1234.5'])).toEqual(['1234.5']);
  });
});
