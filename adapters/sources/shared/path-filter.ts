import { z } from 'zod';
import { pathMatcher } from './match-path.ts';

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
  const [isIncluded, isExcluded] = [pathMatcher(include.map(partsOf)), pathMatcher(exclude.map(partsOf))];
  return {
    accepts: (path) => {
      const parts = partsOf(path);
      return isIncluded(parts) && !isExcluded(parts);
    },
    excludes: (path) => isExcluded(partsOf(path)),
  };
}

function partsOf(path: string): string[] {
  return path
    .normalize('NFC')
    .split('/')
    .filter((part, index) => part !== '' || index > 0);
}
