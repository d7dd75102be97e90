/** The text of a passage of `chunks` that is embedded, and hashed: its headings above it, as a reader sees it. */
export const embeddedText = (chunks: string): string =>
  `concat_ws(E'\\n', ${chunks}.heading, ${chunks}.text)`;
