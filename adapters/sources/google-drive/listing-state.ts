import { z } from 'zod';
import { isRecentListing } from '../shared/recent-listing.ts';
import { parseState, parseStored } from '../shared/stored-text.ts';

const checkpoint = z.object({
  /** Begin of the last complete listing, in milliseconds since the epoch. */
  whole: z.number(),
  /** From where on changes are asked for. */
  token: z.string(),
});
type Checkpoint = z.output<typeof checkpoint>;

const state = z.object({
  /** Begin of the last complete listing, or of this one. */
  whole: z.number(),
  /** Of a listing of everything: from where on changes are asked for afterwards; null: changes are listed. */
  start: z.string().nullable(),
  /** Of the page; null: the first one of everything. */
  token: z.string().nullable(),
});
export type ListingState = z.output<typeof state>;

/** From where on changes are listed; null: everything is listed. */
export function changesSince(text: string | null, relistHours: number): ListingState | null {
  const before = text === null ? null : parseStored(checkpoint, text);
  return before !== null && isRecentListing(before.whole, relistHours)
    ? { whole: before.whole, start: null, token: before.token }
    : null;
}

export function toCheckpoint(made: Checkpoint): string {
  return JSON.stringify(made);
}

/** @throws SourceFailure `cursor_expired`, also for a cursor of a version before */
export function readState(text: string): ListingState {
  return parseState(state, text);
}
