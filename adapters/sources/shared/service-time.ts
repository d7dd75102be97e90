/** Milliseconds since the epoch at a response, by the service's own clock; without one, by ours. */
export function clockOf(headers: Headers | undefined): number {
  return Date.parse(headers?.get('date') ?? '') || Date.now();
}

/** The same as ISO 8601, and no later than ours: changes until a time in the future would never be listed. */
export function serviceTime(headers: Headers | undefined): string {
  return new Date(Math.min(clockOf(headers), Date.now())).toISOString();
}
