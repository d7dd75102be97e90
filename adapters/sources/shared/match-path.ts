/**
 * Whether the parts of a pattern match those of a path: `*` and `?` stand for characters of one part, `**` for any
 * parts. After a mismatch only the last of them is extended: an earlier one cannot help. Time grows with the product of
 * both lengths, for any pattern.
 */
export function matchesPath(pattern: readonly string[], segments: readonly string[]): boolean {
  return greedy(pattern, segments, '**', (part, segment) => matchesName(part, segment));
}

function matchesName(pattern: string, name: string): boolean {
  if (!/[*?]/.test(pattern)) {
    return pattern === name;
  }
  return greedy(
    Array.from(pattern),
    Array.from(name),
    '*',
    (part, character) => part === '?' || part === character,
  );
}

function greedy(
  pattern: readonly string[],
  text: readonly string[],
  any: string,
  fits: (part: string, each: string) => boolean,
): boolean {
  let [at, from] = [0, 0];
  let retry: { at: number; from: number } | null = null;
  while (from < text.length) {
    const part = pattern[at];
    if (part === any) {
      retry = { at: at + 1, from };
      at += 1;
    } else if (part !== undefined && fits(part, text[from] ?? '')) {
      at += 1;
      from += 1;
    } else if (retry !== null) {
      retry.from += 1;
      ({ at, from } = retry);
    } else {
      return false;
    }
  }
  while (pattern[at] === any) at += 1;
  return at === pattern.length;
}
