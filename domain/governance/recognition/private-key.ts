import type { Finding } from './pii-kinds.ts';

const firstLine = /-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----/;
const lastLine = /-----END [A-Z ]{0,30}PRIVATE KEY-----/g;
/** Of the first line and the lines after it, such as `Proc-Type: 4,ENCRYPTED` and base64. */
const character = /[A-Za-z0-9+/=\s:,-]/;
const shortestContent = 16;
/** Including the first line. */
const maxLength = 8_060;

/** Private keys in PEM, searched backwards from their last line, so that the cost is linear. */
export function findPrivateKeys(text: string): Finding[] {
  const found: Finding[] = [];
  let from = 0;
  for (const last of text.matchAll(lastLine)) {
    const block = text.slice(blockStart(text, last.index, from), last.index);
    const first = firstLine.exec(block);
    const end = last.index + last[0].length;
    if (first === null) {
      from = end;
    } else if (block.length - first.index - first[0].length >= shortestContent) {
      found.push({ kind: 'api_key', start: last.index - block.length + first.index, end });
      from = end;
    }
  }
  return found;
}

function blockStart(text: string, end: number, from: number): number {
  let start = end;
  while (start > Math.max(from, end - maxLength) && character.test(text.charAt(start - 1))) {
    start -= 1;
  }
  return start;
}
