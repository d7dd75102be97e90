import { SourceFailure } from '#domain/knowledge/connectors/source.ts';
import type { Patience } from '../shared/patience.ts';
import type { ListingState } from './listing-state.ts';
import type { NotionClient } from './notion-client.ts';
import type { SearchResults } from './wire.ts';

/** Pages of results that one page of the listing is made of: a step of a run reads the documents of a page to its end. */
const resultsAtOnce = 3;
/** Results of a place's minute that are listed twice: so many may have been edited since, and stand before it now. */
const againCount = 100;
/** Pages of results that are passed to find a place again. */
const maxPassed = 500;

type Results = SearchResults['results'];
type Paging = ListingState['paging'];

export interface SearchPart {
  results: Results;
  /** null: this was the last part. */
  paging: Paging;
  /** The service ended the listing before its end, or repeats it. */
  isCut: boolean;
}

/**
 * The next pages of results of a search, in one go: the cursors of the service expire within a minute or so, in which
 * a run reads few documents.
 */
export async function searchPart(
  client: NotionClient,
  { part, since, paging }: ListingState,
  patience: Patience,
  signal: AbortSignal,
): Promise<SearchPart> {
  const ask: Ask = async (cursor) =>
    (await client.search({ cursor, trashed: part === 'trash' }, signal))?.value ?? noResults;
  const askPatiently: Ask = (cursor) => patience.ask(signal, () => ask(cursor));
  const results: Results[number][] = [];
  let at = paging;
  let isCut = false;
  for (let pages = 0; pages < resultsAtOnce; pages += 1) {
    const { page, before } = await resultsAt(at, pages === 0 ? ask : askPatiently, askPatiently);
    results.push(...page.results.filter((each) => isSince(each, since)));
    const isRepeated = page.next !== null && page.next === at?.cursor;
    // Where the listing ends before, because the rest is known, the limit of the service does not matter.
    isCut = isRepeated || (page.next === null && page.isCut);
    const next = isRepeated ? null : placeAfter(page, before);
    at = next !== null && isLater(next.edited, since) ? next : null;
    if (at === null) {
      break;
    }
  }
  return { results, paging: at, isCut: isCut && part === 'pages' };
}

type Ask = (cursor: string | null) => Promise<SearchResults>;
const noResults: SearchResults = { results: [], next: null, isCut: false };

function placeAfter({ results, next }: SearchResults, before: Paging): Paging {
  const times = results.flatMap(({ last_edited_time: time }) => (time === undefined ? [] : [time]));
  const edited = times.at(-1) ?? before?.edited ?? new Date().toISOString();
  const same = times.filter((time) => time === edited).length;
  return next === null
    ? null
    : { cursor: next, edited, same: same + (before?.edited === edited ? before.same : 0) };
}

/** Results, and the place at which they really begin. */
interface PlacedResults {
  page: SearchResults;
  before: Paging;
}

/**
 * The results at a place. Where its cursor has expired, the results are passed again up to a little before the place:
 * pages of the same minute that were edited meanwhile stand at the front now. What is listed twice is fetched once.
 */
async function resultsAt(paging: Paging, ask: Ask, askAgain: Ask): Promise<PlacedResults> {
  if (paging === null) {
    return { page: await ask(null), before: null };
  }
  try {
    return { page: await ask(paging.cursor), before: paging };
  } catch (error) {
    if (!isRefusal(error)) {
      throw error;
    }
  }
  const { edited: minute, same: listed } = paging;
  const again: Results[number][] = [];
  const same = Math.max(0, listed - againCount);
  let seen = 0;
  let cursor: string | null = null;
  for (let passed = 0; passed < maxPassed; passed += 1) {
    const page: SearchResults = await askAgain(cursor).catch(asExpired);
    for (const result of page.results) {
      const { last_edited_time: edited } = result;
      const isOlder = edited !== undefined && !isLater(edited, minute);
      seen += edited === minute ? 1 : 0;
      if (isOlder || (edited === minute && seen > same)) {
        again.push(result);
      }
    }
    // A page without others would be found again for ever.
    const hasNew = again.length > listed - same || again.at(-1)?.last_edited_time !== minute;
    if ((again.length > 0 && hasNew) || page.next === null) {
      return { page: { ...page, results: again }, before: { ...paging, same: Math.min(seen, same) } };
    }
    cursor = page.next;
  }
  throw new SourceFailure('cursor_expired', 'The listing has to begin again.');
}

function isRefusal(error: unknown): boolean {
  return error instanceof SourceFailure && error.code === 'scope_invalid';
}

function asExpired(error: unknown): never {
  throw isRefusal(error)
    ? new SourceFailure('cursor_expired', 'The listing has to begin again.', { cause: error })
    : error;
}

function isSince({ last_edited_time: edited }: Results[number], since: string | null): boolean {
  return edited === undefined || isLater(edited, since);
}

/** Whether a time is that of `since`, or later. */
function isLater(time: string | undefined, since: string | null): boolean {
  return time !== undefined && (since === null || Date.parse(time) >= Date.parse(since));
}
