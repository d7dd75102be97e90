import { expect, it } from 'vitest';
import { cellText, readCellStyles } from '#adapters/knowledge/formats/cell-values.ts';

const xml =
  '<styleSheet><numFmts><numFmt numFmtId="164" formatCode="0.0%;[Red]-0.0%"/><numFmt numFmtId="165" formatCode="0&quot; %&quot;"/>' +
  '</numFmts><cellXfs><xf numFmtId="0"/><xf numFmtId="9"/><xf numFmtId="10"/><xf numFmtId="164"/><xf numFmtId="165"/></cellXfs></styleSheet>';
const styles = readCellStyles(xml, false);

it.each([
  [0, '0.256', '0.256'],
  [1, '0.25', '25%'],
  [2, '0.1234', '12.34%'],
  [3, '-0.07', '-7.0%'],
  [4, '7', '7'],
  [3, '1.1000000000000001', '110.0%'],
])('in style %i the number %s is shown as %s', (style, value, shown) => {
  expect(cellText(value, { type: 'n', style }, { shared: [], styles })).toBe(shown);
});
