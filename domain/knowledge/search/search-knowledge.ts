import type { EntityManager } from '@mikro-orm/postgresql';
import { validate } from 'uuid';
import { Collection } from '#domain/knowledge/collections/collection.entity.ts';
import { notFound } from '#domain/foundation/kernel/errors.ts';
import { bestPassages } from './best-passages.ts';
import type { KnowledgeQuery, Searched } from './knowledge-query.ts';
import type { Passage } from './passage.ts';
import {
  questionTarget,
  questionVector,
  type KeywordReason,
  type QuestionAccess,
  type QuestionVector,
} from './question-vector.ts';
import { byKeyword, byMeaning } from './search-sides.ts';

export interface KnowledgeAnswer {
  passages: Passage[];
  /** `keyword` without a vector search. */
  mode: 'keyword' | 'hybrid';
  /** Why passages were not, or in the mode `hybrid` not everywhere, searched by meaning. */
  reason: KeywordReason | null;
  /** The embedding generation whose vectors were searched. */
  generation: string | null;
}

/**
 * The best passages of a space for a question, best first. The question is embedded between two transactions; then both
 * searches run at once, each in a transaction of its own, and their passages are read in a last one.
 * @throws `collection_not_found` for another space's collection.
 */
export async function searchKnowledge(
  access: QuestionAccess,
  query: KnowledgeQuery,
): Promise<KnowledgeAnswer> {
  const first = await access.inTransaction(async (em) => {
    const collections = await searchable(em, query);
    const target = await questionTarget(em, access, query);
    const searched = { collections, query, principalId: access.principalId };
    return typeof target === 'string'
      ? { answer: await answerByKeyword(em, searched, target) }
      : { searched, target };
  });
  if ('answer' in first) {
    return first.answer;
  }
  const { searched, target } = first;
  const vector = await questionVector(access, target, query.query);
  return typeof vector === 'string'
    ? access.inTransaction((em) => answerByKeyword(em, searched, vector))
    : answerByBoth(access, searched, vector);
}

async function answerByKeyword(
  em: EntityManager,
  searched: Searched,
  reason: KeywordReason,
): Promise<KnowledgeAnswer> {
  const keyword = await byKeyword(em, searched);
  const passages = await bestPassages(em, searched, { keyword, vector: null });
  return { passages, mode: 'keyword', reason, generation: null };
}

/** No transaction waits for another one: with many searches at once, all connections could be held by waiting ones. */
async function answerByBoth(
  { inTransaction }: QuestionAccess,
  searched: Searched,
  questionVector: QuestionVector,
): Promise<KnowledgeAnswer> {
  const byKeywords = inTransaction((em) => byKeyword(em, searched));
  const byVector = inTransaction((em) => byMeaning(em, searched, questionVector));
  // A request is not answered while a transaction of its own goes on.
  await Promise.allSettled([byKeywords, byVector]);
  const [keyword, { vector, isPartial }] = await Promise.all([byKeywords, byVector]);
  const passages = await inTransaction((em) => bestPassages(em, searched, { keyword, vector }));
  const reason = isPartial ? 'not_embedded' : null;
  return { passages, mode: 'hybrid', reason, generation: questionVector.embeddingId };
}

async function searchable(em: EntityManager, query: KnowledgeQuery): Promise<Collection[]> {
  const { spaceId, collectionIds } = query;
  if (collectionIds === null) {
    return em.find(Collection, { spaceId });
  }
  const wanted = new Set(collectionIds);
  const found = collectionIds.every((id) => validate(id))
    ? await em.find(Collection, { spaceId, id: { $in: [...wanted] } })
    : [];
  if (found.length < wanted.size) {
    throw notFound('collection_not_found');
  }
  return found;
}
