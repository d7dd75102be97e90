import type { EntityManager } from '@mikro-orm/postgresql';
import { sourceReading } from '#domain/knowledge/collections/source-reading.ts';
import type { KeywordHit } from './fuse-hits.ts';
import type { Searched } from './knowledge-query.ts';
import { lacksVectors } from './lacks-vectors.ts';
import { matchKeywords } from './match-keywords.ts';
import { nearestPassages, type NearestPassages } from './nearest-passages.ts';
import { contentOf } from './question.ts';
import type { QuestionVector } from './question-vector.ts';

/** Max hits of each search that are ranked. */
export const candidates = 200;

export async function byKeyword(
  em: EntityManager,
  { collections, query: { query, filter = {} }, principalId }: Searched,
): Promise<KeywordHit[]> {
  const [first] = collections;
  if (first === undefined) {
    return [];
  }
  return matchKeywords(em, {
    tenantId: first.tenantId,
    collectionIds: collections.map(({ id }) => id),
    question: contentOf(query),
    filter,
    reading: await sourceReading(em, collections, principalId),
    limit: candidates,
  });
}

export interface ByMeaning {
  /** null without collections. */
  vector: NearestPassages | null;
  /** Whether passages had no vector. */
  isPartial: boolean;
}

export async function byMeaning(
  em: EntityManager,
  { collections, query: { filter = {} }, principalId }: Searched,
  vector: QuestionVector,
): Promise<ByMeaning> {
  const [first] = collections;
  if (first === undefined) {
    return { vector: null, isPartial: false };
  }
  const query = {
    ...vector,
    tenantId: first.tenantId,
    collectionIds: collections.map(({ id }) => id),
    passages: collections.reduce((sum, { chunkCount }) => sum + chunkCount, 0),
    filter,
    reading: await sourceReading(em, collections, principalId),
    limit: candidates,
  };
  // Asked first: what is embedded between both statements is found.
  const isPartial = await lacksVectors(em, query);
  return { vector: await nearestPassages(em, query), isPartial };
}
