/**
 * Times that processes of one machine may compare: microseconds of its monotonic clock. A stamp is 14
 * characters and a blank, so that a token with a stamp is as long as a word.
 */
export function now(): number {
  return Number(process.hrtime.bigint() / 1_000n);
}

export function stampedToken(): string {
  return `${String(now()).padStart(14, '0')} `;
}

/** How long ago each stamp of the text was made, in milliseconds. */
export function agesOf(text: string, arrivedAt: number): number[] {
  return [...text.matchAll(/(?<!\d)\d{14}(?= )/g)].map(([stamp]) => (arrivedAt - Number(stamp)) / 1_000);
}
