import { z } from 'zod';

const maxPatterns = 20;
const maxPatternLength = 200;

const patterns = z
  .array(z.string().min(1).max(maxPatternLength))
  .max(maxPatterns)
  .describe(
    'Patterns of whole paths: `*` stands for any characters but `/`, `?` for one of them, `**` between slashes for any folders, such as `**/*.md` or `guides/**`.',
  );

/** The fields of a scope that choose documents by path. */
export const pathFilterFields = (defaults: { include?: string[]; exclude?: string[] } = {}) => ({
  include: patterns.default(defaults.include ?? ['**']),
  exclude: patterns.default(defaults.exclude ?? []),
});

export interface PathPatterns {
  include: readonly string[];
  exclude: readonly string[];
}

export interface PathFilter {
  /** Whether a document is in the scope. */
  accepts(path: string): boolean;
  /** Whether a pattern excludes this very path; for a folder, all that is in it. */
  excludes(path: string): boolean;
}

/** Case counts. Different forms of the same Unicode characters are equal. */
export function pathFilter({ include, exclude }: PathPatterns): PathFilter {
  const included = include.map(partsOf);
  const excluded = exclude.map(partsOf);
  const matches = (list: readonly string[][], path: string) => {
    const parts = partsOf(path);
    return list.some((pattern) => matchesParts(pattern, parts));
  };
  return {
    accepts: (path) => matches(included, path) && !matches(excluded, path),
    excludes: (path) => matches(excluded, path),
  };
}

function partsOf(path: string): string[] {
  return path
    .normalize('NFC')
    .split('/')
    .filter((part, index) => part !== '' || index > 0);
}

/** Row by row over the parts of the pattern, so in time of the product of both lengths at most. */
function matchesParts(pattern: readonly string[], path: readonly string[]): boolean {
  let reached = [true, ...path.map(() => false)];
  for (const part of pattern) {
    const next = path.map(() => false);
    if (part === '**') {
      const from = reached.indexOf(true);
      reached = reached.map((_, at) => from !== -1 && at >= from);
    } else {
      path.forEach((each, at) => {
        next[at] = reached[at] === true && matchesPart(part, each);
      });
      reached = [false, ...next];
    }
    if (!reached.includes(true)) {
      return false;
    }
  }
  return reached.at(-1) === true;
}

/** Goes back to the last `*` alone. */
function matchesPart(pattern: string, text: string): boolean {
  let [at, to, star, resume] = [0, 0, -1, 0];
  while (to < text.length) {
    if (at < pattern.length && pattern[at] === '*') {
      star = at;
      resume = to;
      at += 1;
    } else if (at < pattern.length && (pattern[at] === '?' || pattern[at] === text[to])) {
      at += 1;
      to += 1;
    } else if (star !== -1) {
      at = star + 1;
      resume += 1;
      to = resume;
    } else {
      return false;
    }
  }
  while (pattern[at] === '*') {
    at += 1;
  }
  return at === pattern.length;
}
