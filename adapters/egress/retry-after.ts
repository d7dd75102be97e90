/**
 * The time of a `Retry-After` header: seconds or an HTTP date, at most `maxMs`.
 * @returns milliseconds; null without a header that can be read
 */
export function retryAfterMs(header: string | null | undefined, maxMs: number): number | null {
  if (header == null) {
    return null;
  }
  const seconds = Number(header);
  const ms = Number.isFinite(seconds) ? seconds * 1_000 : Date.parse(header) - Date.now();
  return Number.isFinite(ms) ? Math.min(Math.max(ms, 0), maxMs) : null;
}
