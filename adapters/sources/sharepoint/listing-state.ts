import { z } from 'zod';
import { sha256 } from '#domain/foundation/kernel/canonical-json.ts';
import { SourceFailure } from '#domain/knowledge/connectors/source.ts';
import { isRecentListing } from '../shared/recent-listing.ts';
import { parseStored } from '../shared/stored-text.ts';
import { maxLibraries, type SharepointScope } from './scope.ts';
import { maxLinkLength, type Drive } from './wire.ts';

/** Of a state as text: links of `maxLibraries`, which have about 500 characters each. */
export const maxStateLength = maxLibraries * maxLinkLength + 1_000;

/** Below the address of the interface. */
const link = z.string().startsWith('/');

const checkpoint = z.object({
  /** Of the scope and its libraries: with another one, everything is listed. */
  key: z.string(),
  /** Begin of the last complete listing, by the clock that was behind. */
  whole: z.string(),
  /** End of the last listing, by the clock that was ahead, the service's or ours. */
  ended: z.string(),
  /** For each library, where its changes begin. */
  links: z.array(link),
});

const state = z.object({
  key: z.string(),
  /** Begin of this listing, by the clock that is behind; empty: before its first page. */
  began: z.string(),
  /** Index of the library. */
  at: z.int().min(0),
  /** For each library, its next page or, once it is listed, where its changes begin; null: its first page. */
  links: z.array(link.nullable()),
  /** Null: everything is listed. */
  before: checkpoint.pick({ whole: true, ended: true }).nullable(),
});
export type ListingState = z.output<typeof state>;

export function keyOf(scope: SharepointScope, drives: readonly Drive[]): string {
  const { api_url: api, include, exclude } = scope;
  const named = drives.map(({ id, name }) => [id, name]);
  return sha256(JSON.stringify([api, include, exclude, named])).slice(0, 16);
}

/** How a listing begins: with the changes, where the checkpoint is of a recent listing of the same libraries. */
export function beginState(
  text: string | null,
  { key, count, relistHours }: { key: string; count: number; relistHours: number },
): ListingState {
  const before = text === null ? null : parseStored(checkpoint, text);
  const isUsable =
    before?.key === key && before.links.length === count && isRecentListing(before.whole, relistHours);
  return isUsable
    ? { key, began: '', at: 0, links: before.links, before: { whole: before.whole, ended: before.ended } }
    : { key, began: '', at: 0, links: Array<null>(count).fill(null), before: null };
}

/** @throws SourceFailure `cursor_expired`, also where the libraries are no longer the same */
export function readState(text: string, key: string): ListingState {
  const found = parseStored(state, text);
  if (found?.key !== key || found.at >= found.links.length) {
    throw new SourceFailure('cursor_expired', 'The listing has to begin again.');
  }
  return found;
}

/** @param ended time of the last page, by the clock that is ahead */
export function endOf({ key, began, links, before }: ListingState, ended: string): string {
  return JSON.stringify({ key, whole: before?.whole ?? began, ended, links });
}
