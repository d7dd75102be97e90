import { embedOnce } from './embed-once.ts';
import { findTargets, type SearchTarget } from './find-targets.ts';
import type { Passage } from './passage.ts';
import type { KnowledgeQuery } from './knowledge-query.ts';
import type { KnowledgeAnswer } from './search-knowledge.ts';
import { searchSpace, type CallerAccess } from './search-space.ts';

export interface SpacesQuery extends Omit<KnowledgeQuery, 'spaceId' | 'collectionIds'> {
  /** Of any spaces of the tenant; null: every collection that the caller may search. */
  collectionIds: string[] | null;
}

/** Spaces that one request searches at a time, each with two transactions. */
const lanes = 2;

/**
 * Searches several spaces as the caller and merges their passages by score. `reason` also says why not every space was
 * searched by vectors.
 * @throws as `findTargets`
 */
export async function searchSpaces(access: CallerAccess, query: SpacesQuery): Promise<KnowledgeAnswer> {
  const targets = await access.inContext(null, (ctx) => findTargets(ctx, query.collectionIds));
  const answers = await searchAll(access, query, targets);
  const generations = new Set(answers.map(({ generation }) => generation));
  const [generation = null] = generations;
  return {
    passages: answers
      .flatMap(({ passages }) => passages)
      .sort(byScore)
      .slice(0, query.limit),
    mode: answers.some(({ mode }) => mode === 'hybrid') ? 'hybrid' : 'keyword',
    reason:
      answers.length === 0
        ? query.alpha === 0
          ? 'alpha_is_zero'
          : 'not_embedded'
        : (answers.find(({ reason }) => reason !== null)?.reason ?? null),
    generation: generations.size === 1 ? generation : null,
  };
}

async function searchAll(
  access: CallerAccess,
  query: SpacesQuery,
  targets: readonly SearchTarget[],
): Promise<KnowledgeAnswer[]> {
  const failed = new AbortController();
  const shared: CallerAccess = {
    ...access,
    embedders: access.embedders && embedOnce(access.embedders),
    signal: AbortSignal.any([access.signal, failed.signal]),
  };
  const left = targets.values();
  const answers: KnowledgeAnswer[] = [];
  const lane = async () => {
    for (const target of left) {
      shared.signal.throwIfAborted();
      answers.push(await searchSpace(shared, { ...query, ...target }));
    }
  };
  try {
    await Promise.all(Array.from({ length: lanes }, lane));
  } finally {
    failed.abort();
  }
  return answers;
}

/** Best first; equal scores by their place, so that an answer does not depend on which space was faster. */
function byScore(a: Passage, b: Passage): number {
  return (
    b.score - a.score ||
    (a.documentId < b.documentId ? -1 : a.documentId > b.documentId ? 1 : a.start - b.start)
  );
}
