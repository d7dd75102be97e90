/**
 * Whether a URI fits one of the patterns, in which `*` stands for any characters; without patterns every URI fits. The
 * parts between the stars are looked for from left to right, each once.
 */
export function fitsPatterns(uri: string, patterns: readonly string[]): boolean {
  return patterns.length === 0 || patterns.some((pattern) => fits(uri, pattern));
}

function fits(uri: string, pattern: string): boolean {
  const [head = '', ...rest] = pattern.split('*');
  const tail = rest.pop();
  if (tail === undefined) {
    return uri === head;
  }
  if (uri.length < head.length + tail.length || !uri.startsWith(head) || !uri.endsWith(tail)) {
    return false;
  }
  const end = uri.length - tail.length;
  let at = head.length;
  for (const part of rest) {
    const found = uri.indexOf(part, at);
    if (found === -1 || found + part.length > end) {
      return false;
    }
    at = found + part.length;
  }
  return true;
}
