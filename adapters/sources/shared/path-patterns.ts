import { z } from 'zod';
import { pathMatcher } from './match-path.ts';

/** A list of patterns in a scope. */
export const patternList = (description: string) =>
  z.array(z.string().min(1).max(200)).max(50).default([]).describe(description);

export interface PathPatterns {
  /** Empty: everything. */
  include: readonly string[];
  exclude: readonly string[];
}

/**
 * Whether a file is of interest, by its path. In a pattern `*` and `?` stand for characters of one name, `**` for any
 * folders; one without a slash is compared with the name alone, and one ending with a slash stands for everything below
 * it. Case counts. Time grows with the length of the path, for any patterns.
 */
export function fileFilter({ include, exclude }: PathPatterns): (path: string) => boolean {
  const [isIncluded, isExcluded] = [
    pathMatcher(include.map(segmentsOf)),
    pathMatcher(exclude.map(segmentsOf)),
  ];
  return (path) => {
    const segments = path.split('/');
    return (include.length === 0 || isIncluded(segments)) && !isExcluded(segments);
  };
}

/** Whether anything below a folder can be of interest. */
export function folderFilter({ exclude }: PathPatterns): (folder: string) => boolean {
  const isWhole = pathMatcher(exclude.map(segmentsOf).filter((pattern) => pattern.at(-1) === '**'));
  return (folder) => !isWhole(folder.split('/'));
}

function segmentsOf(pattern: string): string[] {
  const whole = pattern.endsWith('/') ? `${pattern}**` : pattern;
  const segments = whole.replace(/^\//, '').split('/');
  return whole.includes('/') ? segments : ['**', ...segments];
}
