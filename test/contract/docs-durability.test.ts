import { readdirSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { failpoints } from '#domain/foundation/kernel/failpoint.ts';
import { modelTurn } from '#workflows/shared/activity-options.ts';

const root = new URL('../../', import.meta.url);
const page = readFileSync(new URL('docs/durability.md', root), 'utf8');

it('the table of failpoints has each of them once', () => {
  const [, section = ''] = /^## The failpoints\n([^]+?)^## /m.exec(page) ?? [];
  const rows = section.split('\n').filter((line) => line.startsWith('| '));
  const names = rows.flatMap((row) => [...row.matchAll(/`(\w+\.\w+)`/g)].map(([, name]) => name!));
  expect(names.toSorted()).toEqual(failpoints.toSorted());
});

it('the time until a lost worker is noticed is that of a turn’s heartbeat', () => {
  const [, seconds] = /Temporal notices after ([\d.]+) seconds/.exec(page) ?? [];
  expect(`${seconds}s`).toBe(modelTurn.heartbeatTimeout);
});

it('each part of the kill suite is described', () => {
  const parts = readdirSync(new URL('test/kill/', root)).filter((name) => name.endsWith('.kill.ts'));
  expect(parts.filter((name) => !page.includes(`\`test/kill/${name}\``))).toEqual([]);
});
