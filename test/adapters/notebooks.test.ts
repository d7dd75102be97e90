import { expect, it } from 'vitest';
import { extractor } from '../support/extractor.ts';

it('a notebook is read by its cells, without images', async () => {
  const notebook = {
    nbformat: 4,
    metadata: { kernelspec: { name: 'python3' } },
    cells: [
      { cell_type: 'markdown', source: ['# Beacons\n', 'All of them.\n', '## Heights\n', 'In metres.'] },
      {
        cell_type: 'code',
        source: 'heights = read()\nplot(heights)',
        outputs: [
          { output_type: 'stream', text: ['Halden 12\n', 'Moss 7\n'] },
          {
            output_type: 'display_data',
            data: { 'image/png': 'aGFsZGVu'.repeat(1_000), 'text/plain': '<Figure>' },
          },
          {
            output_type: 'display_data',
            data: { 'text/markdown': '**Tide** 3', 'text/plain': '<IPython.core.display.Markdown object>' },
          },
          {
            output_type: 'display_data',
            data: {
              'text/html': '<table><tr><th>a</th><th>b</th></tr><tr><td>1</td><td>2</td></tr></table>',
            },
          },
          { output_type: 'stream', text: 'rows\n[0m, 1m]' },
          { output_type: 'error', ename: 'LookupError', evalue: '\u001B[31mno more\u001B[0m', traceback: [] },
        ],
      },
      null,
      { cell_type: 'code', source: 7, outputs: 'none' },
    ],
  };
  const content = Buffer.from(JSON.stringify(notebook));
  const source = {
    tenantId: 'a',
    read: () => Promise.resolve({ mediaType: 'application/json' as const, content }),
  };
  const { chunks } = await extractor.extract(source, new AbortController().signal);
  expect(chunks.map(({ heading, anchor, text }) => [heading, anchor, text])).toEqual([
    ['Beacons', 'cell 1', 'All of them.'],
    ['Beacons › Heights', 'cell 1', 'In metres.'],
    [
      'Beacons › Heights',
      'cell 2',
      'heights = read()\nplot(heights)\nHalden 12\nMoss 7\n<Figure>\n**Tide** 3\na: 1; b: 2\n' +
        'rows\n[0m, 1m]\nLookupError: no more',
    ],
  ]);
});
