import type { NearestPassages } from './nearest-passages.ts';

/** A passage's address: its document and its place in it. */
export interface PassageRef {
  documentId: string;
  position: number;
  /** The reading of the passage; omitted: the current one. */
  generation?: number;
}

export interface KeywordHit extends PassageRef {
  /** BM25, comparable between questions: 0.76 for a passage of average length with every word once; below 1. */
  score: number;
  /** Share of the question's weight that the passage contains, 0 to 1. */
  coverage: number;
  /** It waits for its vector: how near it is, is unknown, and its words alone count. */
  lacksVector?: true;
}

export interface FusedHit extends PassageRef {
  /** 0 to 1, best first. */
  score: number;
  /** 0 for a passage that only the vector search found. */
  keywordScore: number;
  /** 0 for a passage that only the keyword search found, or that is as near as an unrelated one. */
  vectorScore: number;
  /** 0 for a passage that only the vector search found. */
  coverage: number;
}

export interface Fusion {
  keyword: KeywordHit[];
  /** null: there is no vector search, and `alpha` has no effect. */
  vector: NearestPassages | null;
  /** Weight of the vector search, 0 to 1. */
  alpha: number;
  limit: number;
}

/** Deviations from an unrelated passage's cosine that count as near; chosen by `npm run bench:knowledge`. */
const near = 8;
/** Of a few passages the deviation may be 0. */
const minDeviation = 0.01;

/**
 * Weighs the scores of both searches by `alpha`: at 0 only passages of the keyword search are left, at 1 only those of
 * the vector search. Both scores mean the same for every question: none is relative to its best hit. A passage without
 * a vector has the score of its words. Equal scores are ordered by address.
 */
export function fuseHits({ keyword, vector, alpha, limit }: Fusion): FusedHit[] {
  const share = vector === null ? 0 : alpha;
  const fused = new Map<string, Candidate>();
  for (const hit of share < 1 ? keyword : []) {
    const { coverage, score: keywordScore, lacksVector = false } = hit;
    fused.set(address(hit), { ...empty, ...refOf(hit), coverage, keywordScore, lacksVector });
  }
  const known = new Map(keyword.map((hit) => [address(hit), hit]));
  for (const hit of share > 0 ? (vector?.hits ?? []) : []) {
    const key = address(hit);
    const { score: keywordScore = 0, coverage = 0 } = known.get(key) ?? {};
    const nearness = nearnessOf(hit.cosine, vector);
    fused.set(key, { ...empty, ...refOf(hit), keywordScore, coverage, nearness });
  }
  return [...fused.entries()]
    .map(([key, { lacksVector, ...hit }]) => {
      const weight = lacksVector ? 0 : share;
      return { key, hit, rank: (1 - weight) * hit.keywordScore + weight * hit.nearness };
    })
    .sort((a, b) => b.rank - a.rank || (a.key < b.key ? -1 : 1))
    .slice(0, limit)
    .map(({ hit: { nearness, ...hit }, rank }) => ({
      ...hit,
      vectorScore: Math.max(0, nearness),
      score: Math.max(0, rank),
    }));
}

interface Candidate extends Omit<FusedHit, 'score' | 'vectorScore'> {
  /** -1 to 1; 0: as near as an unrelated passage. */
  nearness: number;
  lacksVector: boolean;
}

const empty = { keywordScore: 0, coverage: 0, nearness: 0, lacksVector: false };

/** Cosines of different models and questions have different ranges: distances from the background are comparable. */
function nearnessOf(cosine: number, vector: NearestPassages | null): number {
  const { mean, deviation } = vector?.background ?? { mean: 0, deviation: 1 };
  return Math.tanh((cosine - mean) / (near * Math.max(deviation, minDeviation)));
}

function refOf({ documentId, position, generation }: PassageRef): PassageRef {
  return { documentId, position, ...(generation === undefined ? {} : { generation }) };
}

function address({ documentId, position }: PassageRef): string {
  return `${documentId}/${String(position).padStart(8, '0')}`;
}
