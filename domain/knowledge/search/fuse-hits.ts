import type { NearestPassages } from './nearest-passages.ts';

/** A passage's address: its document and its place in it. */
export interface PassageRef {
  documentId: string;
  position: number;
  /** The reading of the passage; omitted: the current one. */
  generation?: number;
}

export interface KeywordHit extends PassageRef {
  /** Share of the question's weight that the passage contains, 0 to 1. */
  coverage: number;
  /** PostgreSQL's cover-density rank, 0 or more. */
  rank: number;
}

export interface FusedHit extends PassageRef {
  /** 0 to 1, best first. */
  score: number;
  /** 0 for a passage that only the vector search found. */
  coverage: number;
  /** Scores of the two searches, 0 to 1; 0 for a passage that a search did not find. */
  keywordScore: number;
  vectorScore: number;
}

export interface Fusion {
  keyword: KeywordHit[];
  /** null: there is no vector search, and `alpha` has no effect. */
  vector: NearestPassages | null;
  /** Weight of the vector search, 0 to 1. */
  alpha: number;
  limit: number;
}

/** Max bonus for the density of the words in a passage, relative to their presence. */
const rankShare = 0.2;

/**
 * Normalises the scores of both searches to 0 to 1 and weighs them by `alpha`; equal scores are ordered by address.
 */
export function fuseHits({ keyword, vector, alpha, limit }: Fusion): FusedHit[] {
  const topRank = Math.max(...keyword.map((hit) => hit.rank), Number.MIN_VALUE);
  const topSimilarity = Math.max(...(vector?.hits ?? []).map((hit) => hit.cosine), Number.MIN_VALUE);
  const vectorShare = vector === null ? 0 : alpha;
  const fused = new Map<string, FusedHit>();
  for (const { documentId, position, generation, coverage, rank } of keyword) {
    const score = (1 - rankShare) * coverage + rankShare * (rank / topRank);
    fused.set(address({ documentId, position }), {
      documentId,
      position,
      ...(generation === undefined ? {} : { generation }),
      coverage,
      keywordScore: score,
      vectorScore: 0,
      score: (1 - vectorShare) * score,
    });
  }
  for (const { documentId, position, cosine } of vector?.hits ?? []) {
    const key = address({ documentId, position });
    const hit = fused.get(key) ?? { documentId, position, coverage: 0, keywordScore: 0, score: 0 };
    const vectorScore = Math.max(0, cosine / topSimilarity);
    fused.set(key, { ...hit, vectorScore, score: hit.score + vectorShare * vectorScore });
  }
  return [...fused.entries()]
    .filter(([, hit]) => hit.score > 0)
    .sort(([a, one], [b, other]) => other.score - one.score || (a < b ? -1 : 1))
    .slice(0, limit)
    .map(([, hit]) => hit);
}

function address({ documentId, position }: PassageRef): string {
  return `${documentId}/${String(position).padStart(8, '0')}`;
}
