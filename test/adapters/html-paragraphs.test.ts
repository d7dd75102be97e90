import { expect, it } from 'vitest';
import { htmlParagraphs } from '#adapters/knowledge/formats/html-paragraphs.ts';
import { readEmail } from '#adapters/knowledge/formats/read-email.ts';
import { readXml } from '#adapters/knowledge/formats/xml-reader.ts';
import { expectLinear } from '#test/support/growth.ts';

const linesOf = (html: string) =>
  htmlParagraphs(html)
    .map(({ text }) => text)
    .filter(Boolean);

/** The elements of a text of HTML, as a browser would write them. */
function treeOf(html: string): string {
  let tree = '';
  const handler = {
    open: (name: string) => void (tree += `<${name}>`),
    close: (name: string) => void (tree += `</${name}>`),
    text: (text: string) => void (tree += text),
  };
  readXml(html, handler, true);
  return tree;
}

it.each([
  ['<p>a<p>b', '<p>a</p><p>b</p>'],
  ['<p>a<div>b</div>', '<p>a</p><div>b</div>'],
  ['<p><b>a<p>b', '<p><b>a</b></p><p>b</p>'],
  ['<p>a<table><tr><td><p>b</table>', '<p>a</p><table><tr><td><p>b</p></td></tr></table>'],
  ['<ul><li>a<li>b<ul><li>c</ul><li>d</ul>', '<ul><li>a</li><li>b<ul><li>c</li></ul></li><li>d</li></ul>'],
  ['<dl><dt>a<dd>b<dt>c<dd>d</dl>', '<dl><dt>a</dt><dd>b</dd><dt>c</dt><dd>d</dd></dl>'],
  [
    '<table><thead><tr><th>a<tbody><tr><td>b<td>c<tr><td>d</table>',
    '<table><thead><tr><th>a</th></tr></thead><tbody><tr><td>b</td><td>c</td></tr><tr><td>d</td></tr></tbody></table>',
  ],
  [
    '<table><tr><td><table><tr><td>a<td>b</table><td>c</table>',
    '<table><tr><td><table><tr><td>a</td><td>b</td></tr></table></td><td>c</td></tr></table>',
  ],
  ['<select><option>a<option>b</select>', '<select><option>a</option><option>b</option></select>'],
  ['<html><head><title>a</title><body>b', '<html><head><title>a</title></head><body>b</body></html>'],
  ['<ruby>a<rt>b<rt>c</ruby>', '<ruby>a<rt>b</rt><rt>c</rt></ruby>'],
])('%s has the ends that are left out', (html, tree) => {
  expect(treeOf(html)).toBe(tree);
});

it('text without end tags is read, however long', () => {
  expect(linesOf('<p>x'.repeat(600))).toEqual(Array(600).fill('x'));
  expect(linesOf(`<table>${'<tr><td>a<td>b'.repeat(600)}</table>`)).toEqual(Array(600).fill('a b'));
  expect(linesOf('<head><title>t</title><p>a')).toEqual(['a']);
});

it('what is nested too deeply is read as well', () => {
  expect(linesOf(`${'<div>'.repeat(2_000)}a${'</div>'.repeat(2_000)}<p>b`)).toEqual(['a', 'b']);
  expect(linesOf(`${'<font>'.repeat(2_000)}a<p>b`)).toEqual(['a', 'b']);
  expect(() => readXml('<a>'.repeat(600), { open() {}, close() {}, text() {} })).toThrow(
    expect.objectContaining({ code: 'malformed' }),
  );
});

it('a message of rows without end tags has its text', async () => {
  const html = `<h1>Report</h1><table>${'<tr><td>a<td>b'.repeat(600)}</table>`;
  const mail = `From: a@x.example\r\nSubject: s\r\nContent-Type: text/html; charset=utf-8\r\n\r\n${html}`;
  const {
    text: { text },
  } = await readEmail(Buffer.from(mail), () => Promise.resolve(null));
  expect(text.match(/^a b$/gm)).toHaveLength(600);
});

it.each(['<p>', '<li>', '<li></li>', '<td>', '<tr><td>', '<ul><li>', '<b><p>', '<table><tr><td>', '</p>'])(
  'is read in linear time: %s',
  (unit) => {
    expectLinear(unit, {
      make: (size) => unit.repeat(size / unit.length),
      work: htmlParagraphs,
      size: 100_000,
    });
  },
);
