import { readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { parseSync } from 'oxc-parser';
import { checkout, listFiles } from './checkout.ts';
import type { Findings } from './run-steps.ts';

/** Words of identifiers and file names, as they stand between capitals or hyphens, and the field's terms for them. */
const words = new Map([
  ['owe', 'enqueue'],
  ['owes', 'enqueues'],
  ['owed', 'pending'],
  ['told', 'notified, delivered, included'],
  ['tells', 'notifies, describes'],
  ['telling', 'delivery'],
  ['asker', 'requester'],
  ['wall', 'row-level security, tenant isolation'],
  ['walled', 'under row-level security'],
  ['door', 'endpoint, verifier, cross-tenant function'],
  ['doors', 'endpoints, cross-tenant functions'],
  ['stretch', 'range, page'],
  ['anew', 'again, refresh, restart'],
  ['surely', 'with retry'],
  ['bringer', 'source'],
  ['brought', 'presented'],
  ['heard', 'received'],
]);
/** Whole forms of names: a word that is right elsewhere. */
const forms: readonly { pattern: RegExp; by: string }[] = [
  { pattern: /^(most|longest)[A-Z]/, by: 'max…' },
  { pattern: /^(least|fewest)[A-Z]/, by: 'min…' },
  { pattern: /^settle[A-Z]/, by: 'resolve…, finalise…, reconcile…' },
  { pattern: /^keep(?!Alive)[A-Z]/, by: 'save…, ensure…' },
  { pattern: /^refuse[A-Z]/, by: 'reject…, assert…, map…' },
  { pattern: /^give(Back|[A-Z]\w*To)$/, by: 'release…' },
];
const phrases =
  /\b(whoever|whomever|one that|ones that|the one who|told|owe[sd]?|owing|askers?|the wall|anew|doors?|beforehand|stretch(es)?)\b/gi;

/** Records of earlier versions, files that never change, and lists of these very words. */
const exempt = [
  /^test\/replay\/histories\//,
  /^test\/upgrade\/baseline\//,
  /^domain\/operations\/schema\/migrations\//,
  /^CHANGELOG\.md$/,
  /^docs\/openapi\.json$/,
  /dialect(\.test)?\.ts$/,
];
const isExempt = (path: string) => exempt.some((pattern) => pattern.test(path));

export async function findDialect(): Promise<Findings> {
  const files = await readOurs();
  const names = [...files].flatMap(([path, text]) => inspectNames(path, text));
  const counts = countPhrases(files);
  const total = [...counts.values()].reduce((sum, n) => sum + n, 0);
  const list = [...counts].toSorted(([a], [b]) => a.localeCompare(b)).map(([folder, n]) => `${folder} ${n}`);
  const note = total === 0 ? [] : [`phrases in comments and documents: ${total} (${list.join(', ')})`];
  return {
    ok: names.length === 0 && total === 0,
    text: [...names, ...note].join('\n'),
  };
}

async function readOurs(): Promise<Map<string, string>> {
  const paths = (await listFiles()).filter((path) => /\.(ts|sql|md)$/.test(path) && !isExempt(path));
  return new Map(
    await Promise.all(
      paths.map(async (path): Promise<[string, string]> => [
        path,
        await readFile(join(checkout, path), 'utf8'),
      ]),
    ),
  );
}

/** One line for each line of the file, and for its name, in which a word of the dialect stands as a name. */
export function inspectNames(path: string, text: string): string[] {
  if (!/\.(ts|sql)$/.test(path)) {
    return [];
  }
  const found = new Set<string>();
  const stem = basename(path).split('.')[0] ?? '';
  const ofFile = replacementFor(stem);
  if (ofFile !== null) {
    found.add(`${path}: ${stem} (${ofFile})`);
  }
  if (path.endsWith('.ts')) {
    for (const { name, start } of identifiersOf(path, text)) {
      const by = replacementFor(name);
      if (by !== null) found.add(`${path}:${lineOf(text, start)}: ${name} (${by})`);
    }
  }
  return [...found];
}

function replacementFor(name: string): string | null {
  const parts = name.replaceAll(/([a-z0-9])([A-Z])/g, '$1-$2').split(/[-_]/);
  const word = parts.map((part) => words.get(part.toLowerCase())).find((by) => by !== undefined);
  return word ?? forms.find(({ pattern }) => pattern.test(name))?.by ?? null;
}

function identifiersOf(path: string, text: string): { name: string; start: number }[] {
  const found: { name: string; start: number }[] = [];
  const visit = (value: unknown): void => {
    if (Array.isArray(value)) {
      value.forEach(visit);
    } else if (typeof value === 'object' && value !== null) {
      const { type, name, start } = value as { type?: unknown; name?: unknown; start?: unknown };
      if ((type === 'Identifier' || type === 'PrivateIdentifier') && typeof name === 'string') {
        found.push({ name, start: Number(start) });
      }
      Object.values(value).forEach(visit);
    }
  };
  visit(parseSync(path, text).program);
  return found;
}

function lineOf(text: string, offset: number): number {
  return text.slice(0, offset).split('\n').length;
}

/** How many of the phrases stand in comments of sources and in documents, by their folder. */
export function countPhrases(files: ReadonlyMap<string, string>): Map<string, number> {
  const counts = new Map<string, number>();
  for (const [path, text] of files) {
    const n = proseOf(path, text).match(phrases)?.length ?? 0;
    const folder = path.split('/').slice(0, path.startsWith('domain/') || path.startsWith('test/') ? 2 : 1);
    if (n > 0) {
      const key = path.includes('/') ? folder.filter((part) => !part.includes('.')).join('/') : path;
      counts.set(key, (counts.get(key) ?? 0) + n);
    }
  }
  return counts;
}

function proseOf(path: string, text: string): string {
  if (path.endsWith('.md')) {
    return text;
  }
  if (path.endsWith('.sql')) {
    return (text.match(/--.*$/gm) ?? []).join('\n');
  }
  return parseSync(path, text)
    .comments.map(({ value }) => value)
    .join('\n');
}
