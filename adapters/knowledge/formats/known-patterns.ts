/** Number formats that the library holds for good in this process, about 20 kB each. */
const known = new Set<string>();
/** A process that knows more of them should end: its memory is for the next documents. */
const many = 2_000;
/** Those of the document that is read may be as many again. */
const max = 2 * many;

/** Whether the library may read this pattern. */
export function learnPattern(pattern: string): boolean {
  if (known.size < max) known.add(pattern);
  return known.has(pattern);
}

export const knowsManyPatterns = (): boolean => known.size > many;
