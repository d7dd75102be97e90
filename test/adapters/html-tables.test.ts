import { parseHTML } from 'linkedom';
import { describe, expect, it } from 'vitest';
import { htmlParagraphs } from '#adapters/knowledge/formats/html-paragraphs.ts';
import { withoutHtmlTables } from '#adapters/knowledge/formats/markdown-tables.ts';
import { plainTables } from '#adapters/knowledge/formats/page-tables.ts';
import type { DocumentMediaType } from '#domain/knowledge/collections/document-status.ts';
import { sourceOf } from '../support/document-source.ts';
import { expectLinear } from '../support/growth.ts';
import { extractor } from '../support/extractor.ts';

async function textOf(mediaType: DocumentMediaType, content: string): Promise<string> {
  const source = sourceOf({ tenantId: 'a', mediaType, content });
  return (await extractor.extract(source, new AbortController().signal)).text;
}
const linesOf = (html: string) =>
  htmlParagraphs(html)
    .map(({ text }) => text)
    .filter(Boolean);

const fees = `<table><caption>Fees</caption>
<tr><th rowspan="2">Port</th><th colspan="2">2024</th></tr>
<tr><th>Spring</th><th>Autumn</th></tr>
<tr><td rowspan="2">Halden</td><td>12</td><td>14</td></tr>
<tr><td colspan="2">closed</td></tr>
<tr><td colspan="3">Islands</td></tr>
<tr><td>Kirkøy</td><td>7</td><td></td></tr>
</table>`;
const rows = [
  'Port: Halden; 2024 Spring: 12; 2024 Autumn: 14',
  'Port: Halden; 2024 Spring: closed; 2024 Autumn: closed',
  'Islands',
  'Port: Kirkøy; 2024 Spring: 7',
];

describe('a table whose cells span several places', () => {
  it.each<[DocumentMediaType, string]>([
    [
      'text/html',
      `<!doctype html><html><body><h1>Ports</h1><p>Before.</p>${fees}<p>After.</p></body></html>`,
    ],
    [
      'text/markdown',
      `# Ports\n\nBefore.\n\n${fees.replace('2024</th></tr>', '2024</th></tr>\n')}\n\nAfter.\n`,
    ],
    [
      'message/rfc822',
      `From: a@b.example\nSubject: S\nContent-Type: text/html\n\n<p>Before.</p>${fees}<p>After.</p>`,
    ],
  ])('has rows that each name their columns, in %s', async (mediaType, content) => {
    const lines = (await textOf(mediaType, content)).split(/\n+/).map((line) => line.trim());
    const from = lines.indexOf('Before.');
    expect(lines.slice(from, from + 7)).toEqual(['Before.', 'Fees', ...rows, 'After.']);
  });

  it.each([
    [
      '<tr><th>Area</th><td>12 km²</td></tr><tr><th>Height</th><td>30 m</td></tr>',
      ['Area: 12 km²', 'Height: 30 m'],
    ],
    ['<tr><td>a</td><td rowspan="2">b</td></tr><tr><td>c</td></tr>', ['a | b', 'c | b']],
    ['<thead><tr><td>A</td><td>B</td></tr></thead><tr><td>1</td><td>2</td></tr>', ['A: 1; B: 2']],
    [
      '<tr><th>Year</th><th>Sum</th></tr><tr><th rowspan="2">2025</th></tr><tr><td>7</td></tr>',
      ['Year: 2025', 'Year: 2025; Sum: 7'],
    ],
    ['<thead><th>A</th><th>B</th></thead><tr><td>1</td><td>2</td></tr>', ['A: 1; B: 2']],
    ['<tr><th>A</th><th>B</th></tr>Moss<tr><td>1</td><td>2</td></tr>', ['A B', 'Moss', '1 2']],
    ['<tr><th>A</th><td>10<sup>6</sup> m<sup>2</sup>, 21<sup>st</sup></td></tr>', ['A: 10^6 m2, 21st']],
    [
      `<tr><td colspan="2"><p>${'a '.repeat(160)}</p><p>b</p></td></tr><tr><td>c</td><td>d</td></tr>`,
      ['a '.repeat(160).trim(), 'b', 'c d'],
    ],
    ['<tr><td>a</td><td>b</td></tr>', ['a b']],
    ['<tr><td><h2>A</h2></td><td rowspan="2">b</td></tr>', ['A', 'b']],
  ])('%s is %j', (html, lines) => {
    expect(linesOf(`<table>${html}</table>`)).toEqual(lines);
  });

  it('of a long page keeps its header in every passage', async () => {
    const body = Array.from({ length: 60 }, (_, n) => `<tr><td>Port ${n}</td><td>${n} m</td></tr>`).join('');
    const page = `<!doctype html><html><body><h1>Ports</h1><p>All of them.</p><table><tr><th>Name</th><th>Depth</th></tr>${body}</table></body></html>`;
    const source = sourceOf({ tenantId: 'a', mediaType: 'text/html', content: page });
    const { chunks } = await extractor.extract(source, new AbortController().signal);
    const passage = chunks.find(({ text }) => text.includes('Port 57'));
    expect(passage?.text).toContain('Name: Port 57; Depth: 57 m');
  });
});

it('words of cells around another table stay apart', async () => {
  const page =
    '<h1>H</h1><p>Text.</p><table><tr><td>Halden</td><td>North</td><td><table><tr><td>a</td><td>b</td></tr></table></td></tr></table>';
  expect(await textOf('text/html', page)).not.toContain('HaldenNorth');
});

it('raised and lowered text is no markup', async () => {
  expect(await textOf('text/html', '<p>H<sub>2</sub>O of 12 m<sup>2</sup>, 1,234<sup>2</sup></p>')).toBe(
    'H2O of 12 m2, 1,234^2',
  );
});

it('links of cells have their addresses', async () => {
  const page =
    '<h1>H</h1><p>Text.</p><table><tr><th>Name</th><th>File</th></tr><tr><td>Pump</td><td><a href="https://a.example/y_1_a.pdf">Manual</a> <a href="#b">Top</a></td></tr></table>';
  expect(await textOf('text/html', page)).toContain(
    'Name: Pump; File: Manual ([a.example](https://a.example/y_1_a.pdf)) Top',
  );
});

it('links of the names of rows have their addresses, and those of columns have none', async () => {
  const link = (name: string) => `<a href="https://a.example/${name}">${name}</a>`;
  const row = (name: string, value: string) =>
    `<tr><th scope="row">${link(name)}</th><td rowspan="1">${value}</td></tr>`;
  const page = (head: string) =>
    `<h1>H</h1><p>Text.</p><table>${head}${row('Halden', '12 m')}${row('Moss', '9 m')}</table>`;
  const shown = (name: string) => `${name} ([a.example](https://a.example/${name}))`;
  expect(await textOf('text/html', page(`<tr><th>${link('Name')}</th><th>Depth</th></tr>`))).toContain(
    `Name: ${shown('Halden')}; Depth: 12 m\n\nName: ${shown('Moss')}; Depth: 9 m`,
  );
  expect(await textOf('text/html', page(''))).toContain(`${shown('Halden')}: 12 m\n\n${shown('Moss')}: 9 m`);
});

it('a name of several rows stays in each of them without its address, where that is long', async () => {
  const link = `<a href="https://a.example/${'a'.repeat(250)}">Halden</a>`;
  const page = `<h1>H</h1><p>Text.</p><table><tr><th>Name</th><th>Depth</th></tr><tr><th rowspan="2">${link}</th><td>12 m</td></tr><tr><td>9 m</td></tr></table>`;
  expect(await textOf('text/html', page)).toContain('Name: Halden; Depth: 9 m');
});

it.each(['```rust\nVec<String>\n```', 'At <https://a.example>.', '## Heading', '- item'])(
  'a table with %j of markdown in it stays as it is',
  (inner) => {
    const text = `<table><tr><th>A</th><th>B</th></tr><tr><td>\n\n${inner}\n\n</td><td>b</td></tr></table>\n\nAfter.\n`;
    expect(withoutHtmlTables(text)).toBe(text);
    const plain = '<table><tr><th>A</th><th>B</th></tr><tr><td>1</td><td>2</td></tr></table>\n';
    expect(withoutHtmlTables(`${text}\n${plain}`)).toBe(`${text}\nA: 1; B: 2\n`);
  },
);

it('a table of markdown within code stays as it is', () => {
  const code = '```html\n<table><tr><th>a</th><th>b</th></tr></table>\n```\n';
  expect(withoutHtmlTables(code)).toBe(code);
});

describe('hostile spans', () => {
  const cell = '<td colspan="1000000" rowspan="1000000">a</td>';
  it.each([
    ['in every cell', (size: number) => `<table>${`<tr>${cell}</tr>`.repeat(size / 50)}</table>`],
    [
      'in one row',
      (size: number) => `<table><tr>${cell.repeat(size / 100)}</tr>${'<tr><td>b'.repeat(size / 20)}</table>`,
    ],
    [
      'of names',
      (size: number) =>
        `<table>${`<tr><th colspan="1000000" rowspan="1000000">${'a'.repeat(90)}</th><th>b`.repeat(size / 200)}</table>`,
    ],
    ['of tables in tables', (size: number) => `<table><tr>${cell}`.repeat(size / 100)],
  ])('take linear time: %s', (name, make) => {
    expectLinear(name, { make, work: htmlParagraphs, size: 100_000 });
    expectLinear(`${name}, of markdown`, {
      make: (size) => `${make(size)}\n\n`,
      work: withoutHtmlTables,
      size: 100_000,
    });
    expectLinear(`${name}, of a page`, {
      make: (size) => `<html><body>${make(size)}</body></html>`,
      work: (html) => plainTables(parseHTML(html).document),
      size: 50_000,
    });
  });

  it.each([
    ['open', '<table>\n\n'],
    ['around others', '<table><table></table>\n\n'],
    ['with markdown', '<table>\n<tr><td>\n\na\n\n</table>\n\n'],
    ['with headings', '<table>\n<tr><td><h1>a</h1>\n\n'],
  ])('of markdown take linear time where many are %s', (name, block) => {
    const make = (size: number) => block.repeat(size / block.length) + '</table>\n\n'.repeat(size / 100);
    expectLinear(name, { make, work: withoutHtmlTables, size: 200_000 });
  });

  it.each(['<a href="https://a.example/b">', ' (https://a', '1<sup>2'])(
    'are no slower with many of %s in a cell',
    (unit) => {
      expectLinear(unit, {
        make: (size) =>
          `<html><body><table><tr><th>a</th><td>${unit.repeat(size / 50)}</td></tr></table></body></html>`,
        work: (html) => plainTables(parseHTML(html).document),
        size: 50_000,
      });
    },
  );

  it('do not multiply the text', () => {
    const text = linesOf(
      `<table>${`<tr>${cell.replace('>a<', `>${'a'.repeat(150)}<`)}</tr>`.repeat(1_000)}</table>`,
    ).join('');
    expect(text.length).toBeLessThan(2_000_000);
  });
});
