/** A change of one place of a file. */
export type Replacement = readonly [from: string, to: string];

/** @throws unless each text stands in the source exactly once: a defect that no longer fits would prove nothing. */
export function replaceOnce(source: string, replacements: readonly Replacement[]): string {
  return replacements.reduce((text, [from, to]) => {
    const parts = text.split(from);
    if (parts.length !== 2) {
      throw new Error(`found ${parts.length - 1} times instead of once: ${from}`);
    }
    return parts.join(to);
  }, source);
}
