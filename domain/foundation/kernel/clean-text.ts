/** Text that PostgreSQL and UTF-8 can represent: NUL and lone surrogates become U+FFFD, offsets stay unchanged. */
export function cleanText(text: string): string {
  return text.toWellFormed().replaceAll('\0', '\uFFFD');
}
