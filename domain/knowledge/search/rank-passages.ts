import type { EntityManager } from '@mikro-orm/postgresql';
import { recordRerankingUsage } from '#domain/knowledge/reranking/record-reranking-usage.ts';
import { maxPassages, type Reranked } from '#domain/knowledge/reranking/reranker.ts';
import { bestPassages } from './best-passages.ts';
import type { Fusion } from './fuse-hits.ts';
import { judgedText, judgePassages } from './judge-passages.ts';
import type { Searched } from './knowledge-query.ts';
import type { Passage } from './passage.ts';
import type { QuestionAccess } from './question-vector.ts';
import { rerankingTarget, type RerankingReason, type RerankingTarget } from './reranking-target.ts';

/** What ordered the passages of an answer. */
export interface Reranking {
  /** The reranking model; null: none. */
  modelId: string | null;
  /** Why none, or of several spaces not everywhere. */
  reason: RerankingReason | null;
}

/** What both searches found. */
export interface Found {
  searched: Searched;
  hits: Pick<Fusion, 'keyword' | 'vector'>;
}

export interface Ranked {
  passages: Passage[];
  /** The best scores of the search, best first, as many as there are passages: what these are worth to other spaces. */
  places: number[];
  reranking: Reranking;
}

/** Passages in the order of the search, and what reranks them or why nothing does. */
export interface Shortlist {
  found: Found;
  passages: Passage[];
  target: RerankingTarget | RerankingReason;
}

/** Passages for each one of the answer that a model judges, and at least how many. */
const judged = { perResult: 2, atLeast: 32 };

/** The passages of the answer, or where a model reranks them, those that it judges. */
export async function shortlist(em: EntityManager, access: QuestionAccess, found: Found): Promise<Shortlist> {
  const target = await rerankingTarget(em, access, found.searched.query);
  const passages = typeof target === 'string' ? await unranked(em, found) : await candidatesOf(em, found);
  return { found, passages, target };
}

/**
 * Orders a shortlist by its model, which is asked between two transactions. The second one reads the passages again:
 * meanwhile readers may have changed, or documents been deleted. Without an answer of the model the order of the search
 * stands.
 */
export async function rankPassages(
  { inTransaction, signal }: QuestionAccess,
  { found, passages, target }: Shortlist,
): Promise<Ranked> {
  if (typeof target === 'string') {
    return inOrderOfSearch(passages, target);
  }
  if (passages.length === 0) {
    return inOrderOfSearch(passages, 'nothing_found');
  }
  const { spaceId, query: question, limit } = found.searched.query;
  const reranked = await judgePassages(target, { question, passages, signal });
  return inTransaction(async (em) => {
    if (typeof reranked === 'string') {
      return inOrderOfSearch(await unranked(em, found), reranked);
    }
    const { model } = target;
    const { tokens, searches } = reranked;
    await recordRerankingUsage(em, { spaceId, model, passages: passages.length, tokens, searches });
    const readable = await candidatesOf(em, found);
    const ordered = inOrderOf(scoresOf(passages, reranked), readable);
    return {
      passages: ordered.slice(0, limit),
      places: placesOf(ordered).slice(0, limit),
      reranking: { modelId: model.id, reason: null },
    };
  });
}

function inOrderOfSearch(passages: Passage[], reason: RerankingReason): Ranked {
  return { passages, places: placesOf(passages), reranking: { modelId: null, reason } };
}

const placesOf = (passages: readonly Passage[]): number[] =>
  passages.map(({ searchScore }) => searchScore).sort((a, b) => b - a);

const unranked = (em: EntityManager, { searched, hits }: Found): Promise<Passage[]> =>
  bestPassages(em, searched, hits);

function candidatesOf(em: EntityManager, { searched, hits }: Found): Promise<Passage[]> {
  const { query } = searched;
  const limit = Math.min(maxPassages, Math.max(judged.atLeast, judged.perResult * query.limit));
  return bestPassages(em, { ...searched, query: { ...query, limit } }, hits);
}

/** By the text that was judged: it decides, wherever it stands. */
function scoresOf(passages: readonly Passage[], { scores }: Reranked): Map<string, number> {
  return new Map(passages.map((passage, index) => [judgedText(passage), scores[index] ?? 0]));
}

/** Equal scores stay in the order of the search; a text that was not judged is left out. */
function inOrderOf(scores: ReadonlyMap<string, number>, passages: readonly Passage[]): Passage[] {
  return passages
    .flatMap((passage) => {
      const score = scores.get(judgedText(passage));
      return score === undefined ? [] : [{ ...passage, score, rerankScore: score }];
    })
    .sort((a, b) => b.score - a.score);
}
