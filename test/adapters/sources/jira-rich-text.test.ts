import { describe, expect, it } from 'vitest';
import { richText as textOf } from '#adapters/sources/jira/rich-text.ts';
import { TextRoom } from '#adapters/sources/jira/text-room.ts';
import { TooLong } from '#adapters/sources/shared/json-api.ts';
import { node, richTextOf, words } from '../../support/sources/jira-rich-text.ts';
import { shortest } from '../../support/growth.ts';

const richText = (document: unknown, maxLength = Infinity) => textOf(document, new TextRoom(maxLength));
const doc = (...content: unknown[]) => ({ version: 1, ...node('doc', content) });
const paragraph = (...content: (object | string)[]) =>
  node(
    'paragraph',
    content.map((each) => (typeof each === 'string' ? words(each) : each)),
  );
const item = (...content: object[]) => node('listItem', content);

describe('rich text of Jira', () => {
  it('reads paragraphs, headings, rules and quotations', () => {
    expect(
      richText(
        doc(
          node('heading', [words('Title')], { level: 2 }),
          paragraph('one', node('hardBreak'), 'two'),
          paragraph(),
          node('rule'),
          node('blockquote', [paragraph('said'), paragraph('more')]),
          node('panel', [paragraph('careful')], { panelType: 'warning' }),
        ),
      ),
    ).toBe('## Title\n\none\ntwo\n\n---\n\n> said\n> \n> more\n\n> careful');
  });

  it('reads lists within lists, tasks and decisions', () => {
    const inner = node('orderedList', [item(paragraph('b')), item(paragraph('c'))], { order: 4 });
    expect(richText(doc(node('bulletList', [item(paragraph('a'), inner), item(paragraph('d'))])))).toBe(
      '- a\n  \n  4. b\n  5. c\n- d',
    );
    const tasks = node('taskList', [
      node('taskItem', [words('done')], { state: 'DONE' }),
      node('taskItem', [words('open')], {}),
      node('taskList', [node('taskItem', [words('within')], {})]),
    ]);
    expect(richText(doc(tasks))).toBe('- [x] done\n- [ ] open\n  - [ ] within');
    expect(richText(doc(node('decisionList', [node('decisionItem', [words('yes')])])))).toBe('- yes');
  });

  it('reads code as it is, and tables line by line', () => {
    const code = node('codeBlock', [words('if (a) {\n  b();\n}')], { language: 'js' });
    expect(richText(doc(code))).toBe('```js\nif (a) {\n  b();\n}\n```');
    expect(richText(doc(node('codeBlock', [words('```')])))).toBe('~~~~\n```\n~~~~');
    const cell = (type: string, ...content: object[]) => node(type, content, {});
    const table = node('table', [
      node('tableRow', [cell('tableHeader', paragraph('Name')), cell('tableHeader', paragraph('Value'))]),
      node('tableRow', [
        cell('tableCell', paragraph('a|b')),
        cell('tableCell', paragraph('1'), node('bulletList', [item(paragraph('2'))])),
      ]),
    ]);
    expect(richText(doc(table))).toBe('| Name | Value |\n| --- | --- |\n| a\\|b | 1 - 2 |');
  });

  it('reads people, dates, states, cards, files and the targets of links', () => {
    const link = (href: string) => [{ type: 'link', attrs: { href } }];
    expect(
      richText(
        doc(
          paragraph(
            node('mention', [], { id: '1:ada', text: '@Ada' }),
            ' ',
            node('mention', [], { id: '1:ben' }),
            node('emoji', [], { shortName: ':ok:', text: '👌' }),
            node('emoji', [], { shortName: ':own:' }),
            node('status', [], { text: 'Done', color: 'green' }),
            node('date', [], { timestamp: '1735689600000' }),
            node('inlineCard', [], { url: 'https://a.example/x' }),
          ),
          node('blockCard', [], { data: { url: 'https://b.example' } }),
          node('mediaSingle', [node('media', [], { type: 'file', id: '1', alt: 'plan.png' })]),
          paragraph(
            words('here', link('https://c.example')),
            words('https://d.example', link('https://d.example')),
            words('bad', link('javascript:alert(1)')),
            words('x', [{ type: 'strong' }, { type: 'code' }]),
          ),
          node('expand', [paragraph('hidden')], { title: 'More' }),
          node('layoutSection', [node('layoutColumn', [paragraph('left')]), node('layoutColumn', [])]),
        ),
      ),
    ).toBe(
      '@Ada @1:ben👌:own:[Done]2025-01-01https://a.example/x\n\nhttps://b.example\n\n[file: plan.png]\n\n' +
        '[here](https://c.example)https://d.examplebad`x`\n\nMore\n\nhidden\n\nleft',
    );
  });

  it('reads what it does not know as far as it has text', () => {
    expect(richText(doc(node('newBlock', [paragraph('text'), words('beside')])))).toBe('text\n\nbeside');
    expect(richText('plain')).toBe('plain');
    expect(richText(richTextOf('a\nb'))).toBe('a\n\nb');
    for (const nothing of [
      null,
      undefined,
      7,
      [],
      {},
      { type: 'doc', content: 'x' },
      { content: [null, 7, []] },
    ])
      expect(richText(nothing)).toBe('');
  });

  it('takes attributes of another kind for missing ones', () => {
    for (const attrs of [{ level: 1e9 }, { level: '2' }, { level: {} }, {}])
      expect(richText(doc(node('heading', [words('t')], attrs)))).toBe('# t');
    for (const attrs of [{ order: -1 }, { order: Number.NaN }, { order: 1e300 }])
      expect(richText(doc(node('orderedList', [item(paragraph('t'))], attrs)))).toBe('1. t');
    for (const attrs of [{ timestamp: 'x' }, { timestamp: {} }, { timestamp: '9e99' }, { timestamp: '' }])
      expect(richText(doc(paragraph('a', node('date', [], attrs))))).toBe('a');
    expect(richText(doc(node('codeBlock', [words('t')], { language: '`\n# x' })))).toBe('```\nt\n```');
    expect(richText(doc(paragraph(words('t', [{ type: 'link', attrs: { href: {} } }, null as never]))))).toBe(
      't',
    );
  });

  it.each([
    'bulletList',
    'listItem',
    'blockquote',
    'table',
    'expand',
    'unknown',
    'heading',
    'paragraph',
    'taskList',
  ])('reads the text of %s nested a hundred thousand times', (type) => {
    const depth = 100_000;
    const text = `${`{"type":"${type}","content":[`.repeat(depth)}{"type":"text","text":"deep"}${']}'.repeat(depth)}`;
    const read = () => expect(richText(JSON.parse(text))).toContain('deep');
    expect(shortest(read, 1)).toBeLessThan(3_000);
  });

  it('takes time in the order of the size, and writes no more than a multiple of it', () => {
    const line = node('listItem', [paragraph('x')]);
    let nested = node(
      'bulletList',
      Array.from({ length: 60_000 }, () => line),
    );
    for (let depth = 0; depth < 60; depth += 1) nested = node('bulletList', [item(nested)]);
    const size = JSON.stringify(nested).length;
    const spaces = node('paragraph', [words(' '.repeat(2_000_000))]);
    const marks = Array.from({ length: 200_000 }, () => ({ type: 'code' }));
    const read = () => {
      expect(richText(doc(nested)).length).toBeLessThan(2 * size);
      richText(doc(node('table', [node('tableRow', [node('tableCell', [spaces])])])));
      richText(doc(paragraph(words('x', marks))));
    };
    expect(shortest(read, 1)).toBeLessThan(3_000);
  });

  describe('nested deeper than any editor nests', () => {
    const bytesOf = (document: object) => JSON.stringify(document).length;
    /** About 1 MiB, of which most is the text. */
    const nest = (text: string, wrap: (inner: object) => object, levels: number) => {
      let inner: object = paragraph(words(text.repeat(Math.floor(500_000 / text.length))));
      for (let level = 0; level < levels; level += 1) inner = wrap(inner);
      return doc(inner);
    };

    it('reads a table within a cell as plain text, whose pipes are escaped once', () => {
      const wrap = (inner: object) =>
        node('table', [node('tableRow', [node('tableCell', [node('bulletList', [item(inner)])])])]);
      expect(richText(doc(wrap(wrap(paragraph('a|b')))))).toBe('| - a\\|b |\n| --- |');
      const hostile = nest('|', wrap, 38);
      const read = () => expect(richText(hostile).length).toBeLessThan(3 * bytesOf(hostile));
      expect(shortest(read, 1)).toBeLessThan(1_000);
    });

    it.each(['blockquote', 'panel', 'bulletList'])(
      'ends at the length that is left where lines of %s are long',
      (type) => {
        const hostile = nest('a\n', (inner) => node(type, [type === 'bulletList' ? item(inner) : inner]), 38);
        const read = () => {
          expect(() => richText(hostile, 2 * bytesOf(hostile))).toThrow(TooLong);
          expect(richText(hostile).length).toBeLessThan(12 * bytesOf(hostile));
        };
        expect(shortest(read, 1)).toBeLessThan(1_000);
      },
    );
  });

  it('counts all that it writes against the length that is left', () => {
    const documents = [
      doc(paragraph('text'), paragraph('more')),
      doc(node('bulletList', [item(paragraph('a'), paragraph('b'))])),
      doc(node('codeBlock', [words('code')])),
      doc(node('heading', [words('title')], { level: 6 })),
      doc(node('table', [node('tableRow', [node('tableCell', [paragraph('a|b')]), node('tableCell')])])),
      doc(node('expand', [paragraph('x')], { title: 'title' })),
      'plain',
    ];
    for (const document of documents) {
      const { length } = richText(document);
      expect(() => richText(document, length - 1)).toThrow(TooLong);
      // A node takes some more.
      expect(richText(document, length + 600)).toHaveLength(length);
    }
  });

  it('counts nodes that say nothing', () => {
    const nothing = Array.from({ length: 100_000 }, () => 0);
    for (const document of [
      doc(...nothing),
      doc(node('bulletList', nothing)),
      doc(node('table', nothing)),
      doc(node('codeBlock', nothing)),
    ]) {
      expect(() => richText(document, 1_000_000)).toThrow(TooLong);
    }
  });
});
