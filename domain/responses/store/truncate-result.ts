/** Bytes of UTF-8 that a model is told at most of one result. */
const maxResultLength = 262_144;

/** Cuts a result that is too long at a character, and says so where it ends. */
export function truncateResult(text: string): string {
  const size = Buffer.byteLength(text);
  if (size <= maxResultLength) {
    return text;
  }
  const marker = `\n[truncated: ${size} bytes in all]`;
  const bytes = Buffer.from(text).subarray(0, maxResultLength - Buffer.byteLength(marker));
  // A character that the cut split would come out as U+FFFD.
  const kept = new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes, { stream: true });
  return kept + marker;
}
