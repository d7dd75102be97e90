/**
 * The time of a response by the service's own clock, as ISO 8601, and no later than ours: changes until a time in the
 * future would never be listed. Without one, ours.
 */
export function serviceTime(headers: Headers | undefined): string {
  const now = Date.now();
  return new Date(Math.min(Date.parse(headers?.get('date') ?? '') || now, now)).toISOString();
}
