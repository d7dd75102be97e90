import { afterEach, describe, expect, it } from 'vitest';
import { markdownSections } from '#adapters/knowledge/formats/markdown-sections.ts';
import { notionProvider } from '#adapters/sources/notion/provider.ts';
import { asMarkdown } from '#adapters/sources/notion/rich-text.ts';
import { block, richText, say, type FakeBlock } from '../../support/sources/notion-blocks.ts';
import { startNotion, type FakePage, type NotionServer } from '../../support/sources/notion-server.ts';
import { openSource } from '../../support/sources/open-source.ts';

const brief = () => AbortSignal.timeout(20_000);

describe('the text of pages of Notion', () => {
  let server: NotionServer;
  afterEach(() => server?.close());
  const fetch = async ({ id }: FakePage, maxBytes = 1_000_000) =>
    (await openSource(notionProvider, server)).fetch(
      { ref: id, version: null, mediaType: null, maxBytes },
      brief(),
    );
  const textOf = async (page: FakePage) => {
    const found = await fetch(page);
    return found.kind === 'content' ? Buffer.from(found.content).toString() : found;
  };
  const textOfBlocks = async (...blocks: FakeBlock[]) => {
    server = await startNotion();
    return textOf(server.add('Guide', blocks));
  };

  it('has every kind of block that says something', async () => {
    const text = await textOfBlocks(
      say('heading_1', 'Set up'),
      block('paragraph', {
        rich_text: [...richText('See '), ...richText('the site', 'https://example.org/a')],
      }),
      say('bulleted_list_item', 'First', [
        say('bulleted_list_item', 'Inner\nsecond line'),
        say('paragraph', 'And'),
      ]),
      say('numbered_list_item', 'One', [say('to_do', 'Open')]),
      say('numbered_list_item', 'Two'),
      say('paragraph', ''),
      say('numbered_list_item', 'Again'),
      block('to_do', { rich_text: richText('Done'), checked: true }),
      say('quote', 'Said', [say('paragraph', 'within')]),
      say('callout', 'Mind'),
      say('heading_2', 'Details'),
      say('toggle', 'More', [say('heading_3', 'Hidden'), say('paragraph', 'inside')]),
      block('code', {
        rich_text: richText('a = `b`\n# no heading'),
        caption: richText('Listing'),
        language: 'c++',
      }),
      block('equation', { expression: 'e = mc^2' }),
      block('table', { table_width: 2, has_column_header: true }, [
        block('table_row', { cells: [richText('Key'), richText('a|b')] }),
        block('table_row', { cells: [richText('x'), []] }),
      ]),
      block('column_list', {}, [block('column', {}, [say('heading_4', 'In a column')])]),
      block('synced_block', { synced_from: { type: 'block_id', block_id: server?.userId } }, [
        say('paragraph', 'Copied'),
      ]),
      block('bookmark', { url: 'https://example.org/b', caption: richText('Noted') }),
      block('image', {
        type: 'external',
        external: { url: 'https://example.org/c.png' },
        caption: richText('Plan'),
      }),
      block('meeting_notes', { title: richText('Weekly'), status: 'notes_ready' }, [
        say('paragraph', 'Agreed'),
      ]),
      block('divider', {}),
    );
    expect(text).toBe(
      [
        '# Guide',
        '## Set up',
        'See [the site](https://example.org/a)',
        '- First',
        '  - Inner\n    second line',
        '  And',
        '1. One',
        '   - [ ] Open',
        '2. Two',
        '1. Again',
        '- [x] Done',
        '> Said',
        '> within',
        '> Mind',
        '### Details',
        'More',
        '#### Hidden',
        'inside',
        '```c++\na = `b`\n# no heading\n```\n\nListing',
        '$$e = mc^2$$',
        '| Key | a\\|b |\n| --- | --- |\n| x |  |',
        '##### In a column',
        'Copied',
        'Noted https://example.org/b',
        'Plan https://example.org/c.png',
        'Weekly',
        'Agreed',
      ].join('\n\n'),
    );
  });

  it('keeps its headings as anchors, and takes no other line for one', async () => {
    const text = (await textOfBlocks(
      say('heading_1', 'Set up'),
      say('paragraph', '# no heading\nno\n---\nno\n===\n<!-- no comment\n```'),
      say('heading_2', 'Details'),
      say('paragraph', 'end'),
    )) as string;
    expect(markdownSections(text).map(({ heading, anchor }) => [heading, anchor])).toEqual([
      ['Guide › Set up', 'heading Set up'],
      ['Guide › Set up › Details', 'heading Details'],
    ]);
  });

  it('leaves pages and databases within it to documents of their own', async () => {
    const text = await textOfBlocks(
      block('child_page', { title: 'Other' }, [say('paragraph', 'of the other page')]),
      block('child_database', { title: 'Tasks' }, [say('paragraph', 'of the database')]),
    );
    expect(text).toBe('# Guide\n\nOther\n\nTasks');
    expect(server.asked.filter((each) => each.endsWith('/children'))).toHaveLength(1);
  });

  it('never shows the signed address of a file at Notion', async () => {
    const file = { type: 'file', file: { url: 'https://files.example/x?X-Amz-Signature=secret' } };
    const text = await textOfBlocks(
      block('pdf', { ...file, caption: richText('The plan') }),
      block('file', { ...file, name: 'plan.txt', caption: [] }),
      block('image', { ...file, caption: [] }),
    );
    expect(text).toBe('# Guide\n\nThe plan\n\nplan.txt');
  });

  it('passes over blocks of unknown kinds, in the trash, and without a kind', async () => {
    server = await startNotion();
    const trashed = say('paragraph', 'trashed', [say('paragraph', 'below')]);
    trashed.inTrash = true;
    const page = server.add('Guide', [
      trashed,
      block('constructor', { rich_text: richText('no') }),
      block('hologram', { beams: 3 }, [say('paragraph', 'within the unknown')]),
      block('unsupported', { block_type: 'form' }),
      block('', {}),
    ]);
    expect(await textOf(page)).toBe('# Guide\n\nwithin the unknown');
  });

  it('may be any word', async () => {
    expect(await textOfBlocks(say('paragraph', 'too_large'))).toBe('# Guide\n\ntoo_large');
  });

  it('reads blocks page by page', async () => {
    const many = Array.from({ length: 201 }, (_, at) => say('numbered_list_item', `item ${at}`));
    const text = (await textOfBlocks(...many)) as string;
    expect(text.split('\n\n').slice(1)).toEqual(many.map((_, at) => `${at + 1}. item ${at}`));
    expect(server.asked.filter((each) => each.endsWith('/children'))).toHaveLength(3);
  });

  it('begins with the properties of a row', async () => {
    server = await startNotion('rows');
    const person = (name: string) => ({ object: 'user', id: server.userId, name });
    const value = (type: string, of: unknown) => ({ id: 'x', type, [type]: of });
    const page = server.add('Task', [say('paragraph', 'Do it.')], {
      properties: {
        Status: value('status', { id: 'a', name: 'Open', color: 'red' }),
        Tags: value('multi_select', [{ name: 'b' }, { name: 'a' }]),
        Due: value('date', { start: '2026-01-02', end: '2026-01-05', time_zone: null }),
        Owner: value('people', [person('Ada Example'), { object: 'user', id: server.userId }]),
        Note: value('rich_text', richText('two\nlines')),
        Points: value('number', 3.5),
        Done: value('checkbox', false),
        Site: value('url', 'https://example.org'),
        Mail: value('email', null),
        Key: value('unique_id', { prefix: 'T', number: 7 }),
        Late: value('formula', { type: 'boolean', boolean: true }),
        Sum: value('rollup', { type: 'number', number: 4, function: 'sum' }),
        Names: value('rollup', {
          type: 'array',
          function: 'show_original',
          array: [value('title', richText('one')), value('formula', { type: 'string', string: 'two' })],
        }),
        Plan: value('files', [{ name: 'plan.pdf', type: 'file', file: { url: 'https://f.example/?sig=x' } }]),
        Related: value('relation', [{ id: server.userId }]),
        Press: value('button', {}),
        Odd: value('number', 'not a number'),
        Newer: value('constructor', 'x'),
      },
    });
    expect(await textOf(page)).toBe(
      [
        '# Task',
        [
          '- Done: no',
          '- Due: 2026-01-02 – 2026-01-05',
          '- Key: T-7',
          '- Late: yes',
          '- Names: one, two',
          '- Note: two lines',
          '- Owner: Ada Example',
          '- Plan: plan.pdf',
          '- Points: 3.5',
          '- Site: https://example.org',
          '- Status: Open',
          '- Sum: 4',
          '- Tags: b, a',
        ].join('\n'),
        'Do it.',
      ].join('\n\n'),
    );
  });

  it('is made in time of the order of its length', () => {
    for (const part of ['=', '-', '=  ', '- ', ' ', '```', '<', '#', '\n   ', '\r']) {
      const began = performance.now();
      asMarkdown(part.repeat(500_000));
      asMarkdown(`${part.repeat(500_000)}x`);
      expect(performance.now() - began).toBeLessThan(3_000);
    }
  });
});
