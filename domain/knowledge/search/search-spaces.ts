import { DomainError, notFound } from '#domain/foundation/kernel/errors.ts';
import { embedOnce } from './embed-once.ts';
import { findTargets, type SearchTarget } from './find-targets.ts';
import type { KnowledgeQuery } from './knowledge-query.ts';
import { MergedAnswers } from './merged-answers.ts';
import type { KnowledgeAnswer, SpaceAnswer } from './search-knowledge.ts';
import { searchSpace, type CallerAccess } from './search-space.ts';

export interface SpacesQuery extends Omit<KnowledgeQuery, 'spaceId' | 'collectionIds'> {
  /** Of any spaces of the tenant; null: every collection that the caller may search. */
  collectionIds: string[] | null;
}

export interface SpacesAnswer extends KnowledgeAnswer {
  /** Spaces that were not searched, since time was up. */
  spacesLeftOut: number;
}

/** Max transactions of one request at a time. */
const transactions = 4;
/** After this time no further space is searched. */
const patienceMs = 10_000;

/**
 * Searches several spaces as the caller and merges their passages by score; copies of a text are left out. `reason` also
 * says why not every space was searched by vectors. A space that was deleted meanwhile, or that the caller may no longer
 * search, is one without passages, unless the query names its collections.
 * @throws as `findTargets`
 */
export async function searchSpaces(
  access: CallerAccess,
  query: SpacesQuery,
  limitMs = patienceMs,
): Promise<SpacesAnswer> {
  const end = performance.now() + limitMs;
  const targets = await access.inContext(null, (ctx) => findTargets(ctx, query.collectionIds));
  const merged = new MergedAnswers(query);
  const searched = await searchEach({ access, query, targets, end }, (answer) => merged.add(answer));
  return { ...merged.toAnswer(), spacesLeftOut: targets.length - searched };
}

interface Search {
  access: CallerAccess;
  query: SpacesQuery;
  targets: readonly SearchTarget[];
  /** As `performance.now()`. */
  end: number;
}

/**
 * Several spaces at a time. The first failure ends all of them; it is thrown when none of their transactions goes on.
 * @returns the number of searched spaces
 */
async function searchEach(
  { access, query, targets, end }: Search,
  add: (answer: SpaceAnswer) => void,
): Promise<number> {
  const failed = new AbortController();
  const shared: CallerAccess = {
    ...access,
    embedders: access.embedders && embedOnce(access.embedders),
    signal: AbortSignal.any([access.signal, failed.signal]),
  };
  const left = targets.values();
  let searched = 0;
  let withdrawn = 0;
  const lane = async () => {
    try {
      for (const target of left) {
        shared.signal.throwIfAborted();
        try {
          add(await searchSpace(shared, { ...query, ...target }));
        } catch (error) {
          rethrowUnlessWithdrawn(error, target);
          withdrawn += 1;
          if (withdrawn === targets.length) throw error;
        }
        searched += 1;
        if (performance.now() > end) {
          return;
        }
      }
    } catch (error) {
      failed.abort(error);
    }
  };
  await Promise.all(Array.from({ length: transactions / transactionsPerSpace(access, query) }, lane));
  failed.signal.throwIfAborted();
  return searched;
}

function rethrowUnlessWithdrawn(error: unknown, { collectionIds }: SearchTarget): void {
  const codes = ['space_not_found', 'missing_permission'];
  if (!(error instanceof DomainError && codes.includes(error.code))) {
    throw error;
  }
  if (collectionIds !== null) {
    throw notFound('collection_not_found');
  }
}

/** A search by meaning ranks by words at the same time. */
function transactionsPerSpace({ embedders }: CallerAccess, { alpha }: SpacesQuery): number {
  return alpha === 0 || embedders === undefined ? 1 : 2;
}
