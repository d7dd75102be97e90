/**
 * Whether a complete listing is recent enough for changes alone to be listed. A listing of the future is of a clock that
 * was wrong: nothing would be listed again until then.
 * @param whole its begin, as ISO 8601 or in milliseconds since the epoch
 * @param now milliseconds since the epoch
 */
export function isRecentListing(whole: string | number, relistHours: number, now = Date.now()): boolean {
  const age = now - new Date(whole).getTime();
  return age >= 0 && age < relistHours * 3_600_000;
}
