import { z } from 'zod';
import { isRecentListing } from '../shared/recent-listing.ts';
import { parseState, parseStored } from '../shared/stored-text.ts';

const checkpoint = z.object({
  /** Begin of the last listing, and of the last complete one, by the clock of the service. */
  began: z.string(),
  whole: z.string(),
  /** Another integration sees other pages. */
  user: z.string(),
});

const state = z.object({
  mode: z.enum(['everything', 'changes']),
  /** What is listed: with changes, pages in the trash come first. */
  part: z.enum(['trash', 'pages']),
  began: z.string(),
  whole: z.string(),
  user: z.string(),
  /** Changes before this time are known; null: everything is listed. */
  since: z.string().nullable(),
  /**
   * Of the next results: the cursor, and for when it has expired, the time of the last change of the result before
   * and the number of results that were listed with this time. Null: the first results.
   */
  paging: z.object({ cursor: z.string(), edited: z.string(), same: z.int().min(0) }).nullable(),
});
export type ListingState = z.output<typeof state>;

/** How long an edit may take to appear in the search, whose index is behind the pages. */
const marginMs = 3_600_000;

/** How a listing begins: with the changes, where the last complete one is recent and of the same integration. */
export function beginState(
  text: string | null,
  { user, now, relistHours }: { user: string; now: string; relistHours: number },
): ListingState {
  const before = text === null ? null : parseStored(checkpoint, text);
  const first = { began: now, user, paging: null };
  if (before?.user !== user || !isRecentListing(before.whole, relistHours, Date.parse(now))) {
    return { ...first, mode: 'everything', part: 'pages', whole: now, since: null };
  }
  const since = new Date(Date.parse(before.began) - marginMs).toISOString();
  return { ...first, mode: 'changes', part: 'trash', whole: before.whole, since };
}

export function toCheckpoint({ began, whole, user }: ListingState): string {
  return JSON.stringify({ began, whole, user });
}

export function readState(text: string): ListingState {
  return parseState(state, text);
}
