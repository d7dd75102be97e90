import type { EntityManager } from '@mikro-orm/postgresql';
import { validate } from 'uuid';
import { Collection } from '#domain/knowledge/collections/collection.entity.ts';
import { notFound } from '#domain/foundation/kernel/errors.ts';
import type { KnowledgeQuery, Searched } from './knowledge-query.ts';
import {
  questionTarget,
  questionVector,
  type KeywordReason,
  type QuestionAccess,
  type QuestionVector,
} from './question-vector.ts';
import { rankPassages, shortlist, type Ranked, type Shortlist } from './rank-passages.ts';
import { withoutVectors } from './lacks-vectors.ts';
import { byKeyword, byMeaning } from './search-sides.ts';

export interface KnowledgeAnswer extends Omit<Ranked, 'places'> {
  /** `keyword` without a vector search. */
  mode: 'keyword' | 'hybrid';
  /** Why passages were not, or in the mode `hybrid` not everywhere, searched by meaning. */
  reason: KeywordReason | null;
  /** The embedding generation whose vectors were searched. */
  generation: string | null;
}

/** The answer of one space. */
export interface SpaceAnswer extends KnowledgeAnswer, Ranked {}

/**
 * The best passages of a space for a question, best first. The question is embedded between two transactions; then both
 * searches run at once, each in a transaction of its own, and their passages are read in a last one. Where the space has
 * a reranking model, it is asked after that, and its order is read in one more.
 * @throws `collection_not_found` for another space's collection.
 */
export async function searchKnowledge(access: QuestionAccess, query: KnowledgeQuery): Promise<SpaceAnswer> {
  const first = await access.inTransaction(async (em) => {
    const collections = await searchable(em, query);
    const target = await questionTarget(em, access, query);
    const searched = { collections, query, principalId: access.principalId };
    return typeof target === 'string'
      ? { byWords: { shortlisted: await shortlistByKeyword(em, access, searched), reason: target } }
      : { searched, target };
  });
  if ('byWords' in first) {
    return answerByKeyword(access, first.byWords);
  }
  const { searched, target } = first;
  const vector = await questionVector(access, target, query.query);
  if (typeof vector !== 'string') {
    return answerByBoth(access, searched, vector);
  }
  const shortlisted = await access.inTransaction((em) => shortlistByKeyword(em, access, searched));
  return answerByKeyword(access, { shortlisted, reason: vector });
}

async function shortlistByKeyword(
  em: EntityManager,
  access: QuestionAccess,
  searched: Searched,
): Promise<Shortlist> {
  const keyword = await byKeyword(em, searched);
  return shortlist(em, access, { searched, hits: { keyword, vector: null } });
}

async function answerByKeyword(
  access: QuestionAccess,
  { shortlisted, reason }: { shortlisted: Shortlist; reason: KeywordReason },
): Promise<SpaceAnswer> {
  const ranked = await rankPassages(access, shortlisted);
  return { ...ranked, mode: 'keyword', reason, generation: null };
}

/** No transaction waits for another one: with many searches at once, all connections could be held by waiting ones. */
async function answerByBoth(
  access: QuestionAccess,
  searched: Searched,
  questionVector: QuestionVector,
): Promise<SpaceAnswer> {
  const { inTransaction } = access;
  const byKeywords = inTransaction((em) => byKeyword(em, searched));
  const byVector = inTransaction((em) => byMeaning(em, searched, questionVector));
  // A request is not answered while a transaction of its own goes on.
  await Promise.allSettled([byKeywords, byVector]);
  const [words, { vector, isPartial }] = await Promise.all([byKeywords, byVector]);
  const { embeddingId } = questionVector;
  const tenantId = searched.collections[0]?.tenantId;
  const shortlisted = await inTransaction(async (em) => {
    const keyword =
      isPartial && tenantId !== undefined
        ? await withoutVectors(em, { tenantId, embeddingId }, words)
        : words;
    return shortlist(em, access, { searched, hits: { keyword, vector } });
  });
  const ranked = await rankPassages(access, shortlisted);
  const reason = isPartial ? 'not_embedded' : null;
  return { ...ranked, mode: 'hybrid', reason, generation: embeddingId };
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
