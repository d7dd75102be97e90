import { parseHTML } from 'linkedom';
import { describe, expect, it } from 'vitest';
import { useOwnSelectors } from '#adapters/knowledge/formats/page-selectors.ts';
import { readHtml } from '#adapters/knowledge/formats/read-html.ts';
import { expectLinearLater } from '../support/growth.ts';

useOwnSelectors();

const pageOf = (body: string) => `<!doctype html><html><body>${body}</body></html>`;
const idsOf = (elements: readonly { id: string }[]) => elements.map(({ id }) => id);

describe('a selector', () => {
  const { document } = parseHTML(
    pageOf(
      '<main id="m" class="a b"><p id="p">x</p>text<p id="q" lang="de">y</p><div id="d"><p id="r"></p><template><p id="t"></p></template></div></main>',
    ),
  ) as unknown as {
    document: {
      querySelectorAll(selector: string): { id: string }[];
      querySelector(selector: string): {
        id: string;
        matches(selector: string): boolean;
        closest(selector: string): { id: string } | null;
        setAttribute(name: string, value: string): void;
        querySelectorAll(selector: string): { id: string }[];
      };
    };
  };

  it.each([
    ['p', ['p', 'q', 'r']],
    ['p + p', ['q']],
    ['p + div p, [lang]', ['q', 'r']],
    ['main.a > p:not([lang])', ['p']],
    ['main p', ['p', 'q', 'r']],
    ['div:has(p)', ['d']],
    ['main:not(:has(p + p))', []],
    ['.b, #r', ['m', 'r']],
    ['template p', []],
    ['[lang!="de"][id="p"]', ['p']],
    [':is(p, div)[id]', ['p', 'q', 'd', 'r']],
  ])('%s finds its elements in the order of the page', (selector, ids) => {
    expect(idsOf(document.querySelectorAll(selector))).toEqual(ids);
    expect(document.querySelector(selector)?.id).toBe(ids[0]);
  });

  it('is relative to its scope', () => {
    expect(idsOf(document.querySelector('#m').querySelectorAll(':scope > p'))).toEqual(['p', 'q']);
    expect(idsOf(document.querySelector('#d').querySelectorAll(':scope > p'))).toEqual(['r']);
  });

  it('sees what has changed since its last use', () => {
    const paragraph = document.querySelector('#r');
    expect(paragraph.matches('[title] p, p[title]')).toBe(false);
    expect(paragraph.closest('main[title]')).toBeNull();
    document.querySelector('#m').setAttribute('title', 'a');
    expect(paragraph.matches('[title] p, p[title]')).toBe(true);
    expect(paragraph.closest('main[title]')?.id).toBe('m');
  });
});

it('items of a long list are counted through, from the first number', async () => {
  const list = (start: string) =>
    `<ol${start}>${Array.from({ length: 250 }, (_, n) => `<li>Port ${n}<ol><li>Quay</li></ol></li>`).join('')}</ol>`;
  const numbers = async (start: string) => {
    const { markdown } = await readHtml(pageOf(`<h1>Ports</h1><p>All of them.</p>${list(start)}`));
    expect(markdown.match(/\n\n\d/g)).toHaveLength(1);
    return Array.from(
      markdown.matchAll(/^(\d+)\. Port (\d+)\n\t1\. Quay$/gm),
      ([, shown, n]) => Number(shown) - Number(n),
    );
  };
  expect(await numbers('')).toEqual(Array(250).fill(1));
  expect(await numbers(' start="7"')).toEqual(Array(250).fill(7));
});

it('formulas of an element with many of them stay in their places', async () => {
  const formulas = Array.from({ length: 150 }, (_, n) => `depth ${n} is <math><mi>d</mi></math>`).join(', ');
  const { markdown } = await readHtml(pageOf(`<h1>Ports</h1><p>${formulas}.</p>`));
  expect(markdown.match(/depth \d+ is \$d\$/g)).toHaveLength(150);
});

describe('a page with very many elements side by side is read in linear time', () => {
  const rows = (row: string) => (size: number) => `<table>${row.repeat(size / row.length)}</table>`;
  it.each<[string, (size: number) => string, number]>([
    ...['<p>a</p>', '<b>x</b>', '<div>a</div>', 'a<br>', '<h2>a</h2><p>b</p>'].map(
      (unit): [string, (size: number) => string, number] => [
        unit,
        (size) => unit.repeat(size / unit.length),
        40_000,
      ],
    ),
    ...[
      '<option>a</option>',
      '<a href="b">a</a>',
      '<header><p>a</p></header>',
      '<math><mi>a</mi></math>',
    ].map((unit): [string, (size: number) => string, number] => [
      unit,
      (size) => unit.repeat(size / unit.length),
      40_000,
    ]),
    ['items of a list', (size) => `<ul>${'<li>a</li>'.repeat(size / 10)}</ul>`, 40_000],
    ['numbered items', (size) => `<ol>${'<li>a</li>'.repeat(size / 10)}</ol>`, 40_000],
    ['cells of a row', (size) => `<table><tr>${'<td>a</td>'.repeat(size / 10)}</tr></table>`, 40_000],
    ['rows of one cell', rows('<tr><td>a</td></tr>'), 100_000],
    ['rows of two cells', rows('<tr><td>a</td><td>b</td></tr>'), 40_000],
    ['small trees', (size) => '<div><div><p>a <b>b</b></p></div></div>'.repeat(size / 40), 40_000],
  ])('%s', async (name, make, size) => {
    await expectLinearLater(name, { make: (length) => pageOf(make(length)), work: readHtml, size });
  });
});
