import { wildcardMatcher } from '../shared/wildcards.ts';

/** Whether a URI fits one of the patterns, in which `*` stands for any characters; without patterns every URI fits. */
export function uriFilter(patterns: readonly string[]): (uri: string) => boolean {
  const matchers = patterns.map((pattern) => wildcardMatcher(pattern.split('*')));
  return (uri) => matchers.length === 0 || matchers.some((fits) => fits(uri));
}
