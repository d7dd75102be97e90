/** Text that PostgreSQL and UTF-8 can hold: NUL and lone surrogates become U+FFFD, offsets stay as they are. */
export function cleanText(text: string): string {
  return text.toWellFormed().replaceAll('\0', '\uFFFD');
}
