import { readFile } from 'node:fs/promises';
import { join, posix } from 'node:path';
import { checkout, listFiles } from './checkout.ts';
import type { Findings } from './run-steps.ts';

/** The rooms of `domain/`, the lowest first: a file imports from its own room and from those before it. */
export const rooms = [
  'foundation',
  'identity',
  'capabilities',
  'workspace',
  'governance',
  'knowledge',
  'conversations',
  'responses',
  'operations',
] as const;

const maxFiles = 30;

/** An import, a re-export or an inline type import, by its path. */
const specifier = /\b(?:from|import)\s*\(?\s*(['"])(#domain\/|\.\.?\/)([^'"\n]+)\1/g;

interface Import {
  from: string;
  to: string;
  /** `path:line` of the importing file. */
  place: string;
}

export async function findRoomFaults(): Promise<Findings> {
  const paths = (await listFiles()).filter((path) => path.startsWith('domain/'));
  const texts = await Promise.all(
    paths.map(async (path): Promise<[string, string]> => [
      path,
      path.endsWith('.ts') ? await readFile(join(checkout, path), 'utf8') : '',
    ]),
  );
  const lines = checkRooms(new Map(texts));
  return { ok: lines.length === 0, text: lines.join('\n') };
}

/** One line per fault of the files of `domain/`, which are given with their texts. */
export function checkRooms(files: ReadonlyMap<string, string>): string[] {
  const imports = [...files].flatMap(([path, text]) => importsOf(path, text));
  return [
    ...misplaced([...files.keys()]),
    ...crowded([...files.keys()]),
    ...imports.filter(leadsUp).map(({ place, to }) => `${place}: imports ${to}, of a higher room`),
    ...mutual(imports),
  ];
}

function importsOf(path: string, text: string): Import[] {
  return [...text.matchAll(specifier)].map(({ index, 2: root = '', 3: rest = '' }) => {
    const to = root === '#domain/' ? `domain/${rest}` : posix.join(posix.dirname(path), root, rest);
    return { from: path, to, place: `${path}:${text.slice(0, index).split('\n').length}` };
  });
}

/** A room's position in the order; -1: not a room. */
function rank(path: string): number {
  return rooms.findIndex((room) => path.startsWith(`domain/${room}/`));
}

function leadsUp({ from, to }: Import): boolean {
  return rank(from) !== -1 && rank(from) < rank(to);
}

function misplaced(paths: readonly string[]): string[] {
  return paths.flatMap((path) => {
    if (rank(path) === -1) {
      return [`${path}: stands in no room: ${rooms.join(', ')}`];
    }
    return path.split('/').length < 4 ? [`${path}: stands in no feature of its room`] : [];
  });
}

function crowded(paths: readonly string[]): string[] {
  const folders = Map.groupBy(paths, (path) => posix.dirname(path));
  return [...folders]
    .filter(([, held]) => held.length > maxFiles)
    .map(([folder, held]) => `${folder}: ${held.length} files, at most ${maxFiles}`);
}

/** Folders of a room that import each other: the direction with fewer imports. */
function mutual(imports: readonly Import[]): string[] {
  const inside = imports.filter(({ from, to }) => rank(from) === rank(to));
  const arrows = Map.groupBy(inside, ({ from, to }) => `${posix.dirname(from)} ${posix.dirname(to)}`);
  return [...arrows].flatMap(([key, there]) => {
    const [a = '', b = ''] = key.split(' ');
    const back = arrows.get(`${b} ${a}`) ?? [];
    const isFewer = there.length < back.length || (there.length === back.length && a < b);
    return a === b || back.length === 0 || !isFewer
      ? []
      : there.map(({ place, to }) => `${place}: imports ${to}, whose folder imports this one`);
  });
}
