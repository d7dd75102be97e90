import { z } from 'zod';
import { sha256 } from '#domain/foundation/kernel/canonical-json.ts';
import { isRecentListing } from '../shared/recent-listing.ts';
import { parseState, parseStored } from '../shared/stored-text.ts';
import type { JiraScope } from './scope.ts';

const checkpoint = z.object({
  /** Of the scope: with another one, everything is listed. */
  scope: z.string(),
  /** Begin of the last complete listing, and of the last listing. */
  whole: z.iso.datetime(),
  began: z.iso.datetime(),
});
export type Checkpoint = z.output<typeof checkpoint>;

const state = z.object({
  /** Begin of this listing, by the clock of the service. */
  began: z.iso.datetime(),
  /** Of the last complete listing; null: this listing is complete. */
  whole: z.iso.datetime().nullable(),
  /** From when on changes are listed, as of `localTime`: the same for each page, as tokens belong to a query. */
  since: z
    .string()
    .regex(/^[\d: -]{16}$/)
    .nullable(),
  /** The service's own, of the page. */
  token: z.string(),
});
export type ListingState = z.output<typeof state>;

/**
 * An hour, which clocks show twice when summer time ends, and ten minutes for an index of the search that is behind.
 * What is listed again is compared by its version, and not fetched.
 */
const marginMs = 70 * 60_000;

/** The checkpoint of a recent listing of the same scope; null: everything is listed. */
export function usable(text: string | null, scope: JiraScope): Checkpoint | null {
  const before = text === null ? null : parseStored(checkpoint, text);
  const isUsable = before?.scope === keyOf(scope) && isRecentListing(before.whole, scope.relist_hours);
  return isUsable ? before : null;
}

export function sinceOf({ began }: Checkpoint): Date {
  return new Date(Date.parse(began) - marginMs);
}

export function endOf({ began, whole }: Omit<ListingState, 'token'>, scope: JiraScope): string {
  return JSON.stringify({ scope: keyOf(scope), whole: whole ?? began, began } satisfies Checkpoint);
}

/** @throws SourceFailure `cursor_expired` */
export function readState(text: string): ListingState {
  return parseState(state, text);
}

function keyOf({ base_url: base, projects, jql, comments, restricted }: JiraScope): string {
  return sha256(JSON.stringify([base, projects, jql, comments, restricted])).slice(0, 16);
}
