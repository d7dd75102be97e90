import { daySeconds, dayStart, type ListingState } from './listing-state.ts';
import { dayOf } from './wire.ts';

/**
 * Days of a listing without a message of their own, between two days with one, which are read from the newest on. None
 * is later than the day on which the listing began: of that after it no more than a margin is read.
 * @param newer null: no newer day of the channel has a message
 * @param older null: no older day has one
 */
export function emptyDays(
  { began, oldest }: Pick<ListingState, 'began' | 'oldest'>,
  newer: string | null,
  older: string | null,
): string[] {
  const end = dayStart(began) + daySeconds;
  const until = newer === null ? end : Math.min(end, startOf(newer));
  const from = older === null ? oldest : Math.max(oldest, startOf(older) + daySeconds);
  const count = Math.max(0, Math.round((until - from) / daySeconds));
  return Array.from({ length: count }, (_, n) => dayOf(String(from + n * daySeconds)));
}

const startOf = (day: string): number => Date.parse(day) / 1_000;
