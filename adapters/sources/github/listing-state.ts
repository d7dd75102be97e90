import { z } from 'zod';
import { isRecentListing } from '../shared/recent-listing.ts';
import { parseState, parseStored } from '../shared/stored-text.ts';

/** From when on changes of one list are asked for, and the tag of an empty answer to that. */
const since = z.object({ since: z.string().max(40), etag: z.string().max(200).nullable() });
export type Since = z.output<typeof since>;

/** By the keys of lists. */
const sinces = z.array(z.tuple([z.string(), since])).max(100);

const checkpoint = z.object({
  /** Begin of the last complete listing. */
  whole: z.string(),
  of: sinces,
});

const state = z.object({
  mode: z.enum(['everything', 'changes']),
  /** Begin of this listing, by the clock of the service. */
  began: z.string(),
  /** Index of the list that is read. */
  list: z.int().min(0),
  /** Of the page within the list. */
  paging: z.string().nullable(),
  done: sinces,
  before: checkpoint.nullable(),
});
export type ListingState = z.output<typeof state>;

/** The margin covers clocks and copies of the service that are behind. */
const marginMs = 60_000;

/** `since` includes its second. */
export function sinceOf(began: string): string {
  return `${new Date(Date.parse(began) - marginMs).toISOString().slice(0, 19)}Z`;
}

/** From when on changes are listed; null: everything is. */
export function sinceIn({ before }: ListingState, key: string): Since | null {
  return before?.of.find(([each]) => each === key)?.[1] ?? null;
}

/** How a listing begins: with the changes, where the checkpoint is of a recent listing of the same lists. */
export function beginState(text: string | null, relistHours: number, keys: readonly string[]): ListingState {
  const before = text === null ? null : parseStored(checkpoint, text);
  const isUsable =
    before !== null &&
    isRecentListing(before.whole, relistHours) &&
    keys.every((key) => before.of.some(([each]) => each === key));
  return {
    mode: isUsable ? 'changes' : 'everything',
    began: '',
    list: 0,
    paging: null,
    done: [],
    before: isUsable ? before : null,
  };
}

export function readState(text: string): ListingState {
  return parseState(state, text);
}
