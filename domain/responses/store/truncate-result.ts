/** Max bytes of UTF-8 of one result in a prompt. */
const maxResultLength = 262_144;

/** Truncates a long result at a character boundary and appends a note with its size. */
export function truncateResult(text: string): string {
  const size = Buffer.byteLength(text);
  if (size <= maxResultLength) {
    return text;
  }
  const marker = `\n[truncated: ${size} bytes in all]`;
  const bytes = Buffer.from(text).subarray(0, maxResultLength - Buffer.byteLength(marker));
  // Streaming mode drops a character that the cut split, instead of decoding it as U+FFFD.
  const kept = new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes, { stream: true });
  return kept + marker;
}
