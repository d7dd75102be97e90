import { existsSync, readFileSync } from 'node:fs';
import { posix } from 'node:path';

const ROOT = new URL('../../', import.meta.url);
const SPECIFIER = /(?:from|import)\s*\(?\s*'(?<target>[#.][^']+)'/g;

/** The files of the checkout that a file loads, itself included, as paths from the root. */
export function importedFiles(entry: string, seen = new Set<string>()): Set<string> {
  if (seen.has(entry) || !existsSync(new URL(entry, ROOT))) return seen;
  seen.add(entry);
  for (const { groups } of readFileSync(new URL(entry, ROOT), 'utf8').matchAll(SPECIFIER)) {
    const target = groups!['target']!;
    const path = target.startsWith('#')
      ? target.slice(1)
      : posix.normalize(posix.join(posix.dirname(entry), target));
    importedFiles(path, seen);
  }
  return seen;
}
