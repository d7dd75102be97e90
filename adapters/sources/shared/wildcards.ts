/**
 * Whether a text consists of these parts with any characters between them. They are looked for from left to right, so
 * the time grows with the length of the text.
 * @param parts a pattern, split at its wildcards
 */
export function wildcardMatcher(parts: readonly string[]): (text: string) => boolean {
  const [head = '', ...rest] = parts;
  const tail = rest.pop();
  if (tail === undefined) {
    return (text) => text === head;
  }
  const between = rest.filter((part) => part !== '');
  return (text) => {
    const end = text.length - tail.length;
    if (end < head.length || !text.startsWith(head) || !text.endsWith(tail)) {
      return false;
    }
    let at = head.length;
    for (const part of between) {
      const found = text.indexOf(part, at);
      if (found === -1 || found + part.length > end) {
        return false;
      }
      at = found + part.length;
    }
    return true;
  };
}
