import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { sweepNames } from '#domain/operations/maintenance/sweeps.ts';

it('the list of sweeps for operators has a row for each', () => {
  const page = readFileSync(new URL('../../docs/operating.md', import.meta.url), 'utf8');
  const [, list = ''] = /^\| sweep .*\n((?:\|.*\n)+)/m.exec(page) ?? [];
  const rows = [...list.matchAll(/^\| `(\w+)`/gm)].map(([, name]) => name!);
  expect(rows.toSorted()).toEqual(sweepNames.toSorted());
});
