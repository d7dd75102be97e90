import { z } from 'zod';
import { SourceFailure } from '#domain/knowledge/connectors/source.ts';
import { parseState } from './stored-text.ts';

/** Where a page of a listing begins, and how much came before it. */
export interface PagePlace {
  /** The source's own cursor; null: its first page. */
  at: string | null;
  listed: number;
  pages: number;
}

const form = z.tuple([z.string().nullable(), z.int().min(0), z.int().min(0)]);
const maxCursorLength = 8_000;
/** A source whose pages hold nothing and have no end is not asked for more. */
const maxPages = 20_000;

/** @throws SourceFailure `cursor_expired` for a cursor that this version does not know */
export function placeOf(cursor: string | null): PagePlace {
  if (cursor === null) {
    return { at: null, listed: 0, pages: 0 };
  }
  const [at, listed, pages] = parseState(form, cursor);
  return { at, listed, pages };
}

export function cursorOf({ at, listed, pages }: PagePlace): string {
  return JSON.stringify([at, listed, pages]);
}

/**
 * The cursor of the next page. A listing ends as truncated at the limit of its documents, and where the source gives
 * the same cursor again.
 * @param next the source's own cursor; null: this was its last page
 * @param maxLength of `next`, in characters
 * @throws SourceFailure `source_invalid` where it is longer
 */
export function nextPlace(
  place: PagePlace,
  {
    count,
    next,
    max,
    maxLength = maxCursorLength,
  }: { count: number; next: string | null; max: number; maxLength?: number },
): { next: string | null; truncated?: true; take: number } {
  const take = Math.min(count, max - place.listed);
  const [listed, pages] = [place.listed + take, place.pages + 1];
  if (next !== null && next.length > maxLength) {
    throw new SourceFailure(
      'source_invalid',
      `The source gives a cursor of more than ${maxLength} characters.`,
    );
  }
  const isCut = take < count || (next !== null && (listed >= max || next === place.at || pages >= maxPages));
  if (isCut) {
    return { next: null, truncated: true, take };
  }
  return { next: next === null ? null : cursorOf({ at: next, listed, pages }), take };
}
