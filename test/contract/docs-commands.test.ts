import { readdirSync, readFileSync } from 'node:fs';
import type { Command } from 'commander';
import { describe, expect, it } from 'vitest';
import { createProgram } from '../../bin/platform/program.ts';

const root = new URL('../../', import.meta.url);
const pages = [
  'README.md',
  'CONTRIBUTING.md',
  ...readdirSync(new URL('docs/', root))
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`),
];
const program = createProgram({ out: () => undefined, err: () => undefined });
const groups = new Set(program.commands.map((command) => command.name()));

/** What a page puts in code: spans within a line, and the lines of its blocks. */
function codeOf(page: string): string[] {
  const text = readFileSync(new URL(page, root), 'utf8').replaceAll('\\\n', ' ');
  const blocks = [...text.matchAll(/^```\w*\n([\s\S]*?)^```$/gm)].flatMap(([, block]) => block!.split('\n'));
  const spans = [...text.replaceAll(/^```[\s\S]*?^```$/gm, '').matchAll(/`([^`\n]+)`/g)].map(([, it]) => it!);
  return [...blocks, ...spans];
}

/** The words after `platform` or `bin/platform.ts`; a code span may omit that prefix. */
function commandsIn(code: string): string[][] {
  const plain = code.replaceAll(/<[^>]*>/g, 'X');
  const called = [...plain.matchAll(/(?:^|[\s(])(?:platform|bin\/platform\.ts) ([a-z][a-z-]*[^|)#>;&]*)/g)];
  const texts = called.length > 0 ? called.map(([, words]) => words!) : [plain];
  return texts
    .map((words) => words.trim().split(/\s+/))
    .filter(([group = '', verb = '']) => called.length > 0 || (groups.has(group) && /^[a-z-]+$/.test(verb)));
}

/** The fault of such a command; null: it can be run. */
function problemOf(words: readonly string[]): string | null {
  let command: Command = program;
  let at = 0;
  while (command.commands.length > 0) {
    const next = command.commands.find((each) => each.name() === words[at]);
    if (next === undefined) return `has no ${words[at] ?? 'verb'}`;
    command = next;
    at += 1;
  }
  const known = [...command.options, ...program.options].map(({ long }) => long);
  const unknown = words.filter((word) => word.startsWith('--') && !known.includes(word) && word !== '--help');
  return unknown.length === 0 ? null : `does not know ${unknown.join(' ')}`;
}

describe('the scripts of package.json', () => {
  it('stand in the table of commands, each once, and no other does', () => {
    const { scripts } = JSON.parse(readFileSync(new URL('package.json', root), 'utf8')) as {
      scripts: object;
    };
    const table = readFileSync(new URL('CONTRIBUTING.md', root), 'utf8').matchAll(
      /^\| `npm (?:run )?([\w:]+)`/gm,
    );
    const received = [...table].map(([, name]) => name!).filter((name) => name !== 'ci');
    expect(received.sort()).toEqual(Object.keys(scripts).sort());
  });
});

describe.each(['README.md', 'CONTRIBUTING.md'])('%s', (page) => {
  it.each(['npm ci && npm start', 'npm ci && npm test'])('has `%s` as it is typed', (command) => {
    const lines = codeOf(page).map((code) => code.replace(/ +#.*/, '').trim());
    expect(lines).toContain(command);
  });
});

describe('the commands in the docs', () => {
  const received = pages.flatMap((page) =>
    codeOf(page).flatMap((code) => commandsIn(code).map((words) => ({ page, words }))),
  );

  it('are found in blocks, in sentences and in tables', () => {
    const all = received.map(({ words }) => words.slice(0, 2).join(' '));
    expect(all).toEqual(
      expect.arrayContaining(['responses inspect', 'sessions revoke', 'tool-servers discover']),
    );
    expect(received.length).toBeGreaterThan(30);
  });

  it('are commands of bin/platform, with options that they have', () => {
    const wrong = received.flatMap(({ page, words }) => {
      const problem = problemOf(words);
      return problem === null ? [] : [`${page}: ${words.join(' ')} ${problem}`];
    });
    expect(wrong).toEqual([]);
  });
});
