import { wildcardMatcher } from '../shared/wildcards.ts';

/** Whether a URI fits one of the patterns, in which `*` stands for any characters; without patterns every URI fits. */
export function fitsPatterns(uri: string, patterns: readonly string[]): boolean {
  return patterns.length === 0 || patterns.some((pattern) => wildcardMatcher(pattern.split('*'))(uri));
}
