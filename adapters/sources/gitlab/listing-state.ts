import { z } from 'zod';
import { sha256 } from '#domain/foundation/kernel/canonical-json.ts';
import { isRecentListing } from '../shared/recent-listing.ts';
import { parseState, parseStored } from '../shared/stored-text.ts';
import type { GitlabScope } from './scope.ts';

const checkpoint = z.object({
  /** Of the scope: with another one, everything is listed. */
  scope: z.string(),
  /** Begin of the last complete listing. */
  whole: z.string(),
  /** From when on changes are asked for. */
  since: z.string(),
});

const state = z.object({
  /** Begin of this listing, by the clock of the server. */
  began: z.string(),
  /** Index of the kind within the scope. */
  kind: z.int().min(0),
  /** Of the page within the kind. */
  paging: z.string().nullable(),
  /** Null: everything is listed. */
  before: checkpoint.nullable(),
});
export type ListingState = z.output<typeof state>;

/** The margin covers clocks and replicas of the server that are behind. */
const marginMs = 60_000;

/** How a listing begins: with the changes, where the checkpoint is of a recent listing of the same scope. */
export function beginState(text: string | null, scope: GitlabScope): ListingState {
  const before = text === null ? null : parseStored(checkpoint, text);
  const isUsable = before?.scope === keyOf(scope) && isRecentListing(before.whole, scope.relist_hours);
  return { began: '', kind: 0, paging: null, before: isUsable ? before : null };
}

export function endOf({ began, before }: ListingState, scope: GitlabScope): string {
  const since = new Date(Date.parse(began) - marginMs).toISOString();
  return JSON.stringify({ scope: keyOf(scope), whole: before?.whole ?? began, since });
}

export function readState(text: string): ListingState {
  return parseState(state, text);
}

function keyOf({ base_url: base, project, kinds, notes, confidential }: GitlabScope): string {
  return sha256(JSON.stringify([base, project, kinds, notes, confidential])).slice(0, 16);
}
