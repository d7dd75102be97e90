import { z } from 'zod';
import { matchesPath } from './match-path.ts';

/** A list of patterns in a scope. */
export const patternList = (description: string) =>
  z.array(z.string().min(1).max(200)).max(50).default([]).describe(description);

export interface PathPatterns {
  /** Empty: everything. */
  include: readonly string[];
  exclude: readonly string[];
}

/**
 * Whether a path is of interest. In a pattern `*` and `?` stand for characters of one name, `**` for any folders; one
 * without a slash is compared with the name alone, and one ending with a slash stands for everything below it.
 * Case counts. Time grows with the product of both lengths, for any pattern.
 */
export function pathFilter({ include, exclude }: PathPatterns): (path: string) => boolean {
  const [included, excluded] = [include.map(segmentsOf), exclude.map(segmentsOf)];
  return (path) => {
    const segments = path.split('/');
    const fits = (pattern: readonly string[]) => matchesPath(pattern, segments);
    return (included.length === 0 || included.some(fits)) && !excluded.some(fits);
  };
}

/** Whether anything below a folder can be of interest. */
export function folderFilter({ exclude }: PathPatterns): (folder: string) => boolean {
  const whole = exclude.map(segmentsOf).filter((pattern) => pattern.at(-1) === '**');
  return (folder) => {
    const segments = folder.split('/');
    return !whole.some((pattern) => matchesPath(pattern, segments));
  };
}

function segmentsOf(pattern: string): string[] {
  const whole = pattern.endsWith('/') ? `${pattern}**` : pattern;
  const segments = whole.replace(/^\//, '').split('/');
  return whole.includes('/') ? segments : ['**', ...segments];
}
