import { expect, test } from 'vitest';
import { countPhrases, inspectNames } from '../../scripts/check/dialect.ts';

test('names of the dialect are found with their line and the word to use', () => {
  const source = [
    'const mostFiles = 30;',
    'function settleRequest(asker: string) {',
    '  return class { #told = asker; };',
    '}',
  ].join('\n');
  expect(inspectNames('domain/a/owe-start.ts', source)).toEqual([
    'domain/a/owe-start.ts: owe-start (enqueue)',
    'domain/a/owe-start.ts:1: mostFiles (max…)',
    'domain/a/owe-start.ts:2: settleRequest (resolve…, finalise…, reconcile…)',
    'domain/a/owe-start.ts:2: asker (requester)',
    'domain/a/owe-start.ts:3: told (notified, delivered, included)',
    'domain/a/owe-start.ts:3: asker (requester)',
  ]);
  expect(inspectNames('domain/a/wall.sql', '')).toHaveLength(1);
});

test('names that hold such letters within another word stand, as do strings and comments', () => {
  const source = "// told\nconst allowed = 'the wall'; keepAlive(allSettled, settled, following, mostly);";
  expect(inspectNames('api/firewall.ts', source)).toEqual([]);
});

test('phrases are counted in comments and documents, by folder, and not in code', () => {
  const files = new Map([
    ['domain/responses/a.ts', "/** Whoever is told. */\nconst text = 'whoever';"],
    ['domain/responses/b.sql', "-- owed\nselect 'owed';"],
    ['api/app.ts', '// the response'],
    ['docs/a.md', 'one that waits'],
    ['README.md', 'anew'],
  ]);
  expect([...countPhrases(files)]).toEqual([
    ['domain/responses', 3],
    ['docs', 1],
    ['README.md', 1],
  ]);
});
