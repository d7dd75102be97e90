import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { statusOf } from '#api/errors.ts';

const reference = readFileSync(new URL('../../docs/api.md', import.meta.url), 'utf8');
const cellsOf = (row: string): string[] =>
  row
    .split('|')
    .slice(1, -1)
    .map((cell) => cell.trim());

/** Every `<status> <code>` of the tables that have a column for each. */
function received(page: string): string[] {
  return page.split(/\n(?!\|)/).flatMap((block) => {
    const [head = '', , ...rows] = block.trim().split('\n');
    const names = cellsOf(head);
    const [code, status] = [names.indexOf('code'), names.indexOf('status')];
    return code === -1 || status === -1
      ? []
      : rows
          .map(cellsOf)
          .flatMap((row) =>
            [...row[code]!.matchAll(/`([a-z_]+)`/g)].map(([, name]) => `${row[status]} ${name}`),
          );
  });
}

describe('the errors of the API reference', () => {
  it('are all that the code has, each once and with its status', () => {
    const known = Object.entries(statusOf).map(([code, { status }]) => `${status} ${code}`);
    expect(received(reference).sort()).toEqual(known.sort());
  });

  it('are found in any order of the columns', () => {
    const page =
      'Text.\n\n| code | status |\n| --- | --- |\n| `a`, `b` | 404 |\n\n| code |\n| --- |\n| `c` |\n';
    expect(received(page)).toEqual(['404 a', '404 b']);
  });
});
