import type { EntityManager } from '@mikro-orm/postgresql';
import { validate } from 'uuid';
import { Collection } from '#domain/knowledge/collections/collection.entity.ts';
import { sourceReading } from '#domain/knowledge/collections/source-reading.ts';
import { notFound } from '#domain/foundation/kernel/errors.ts';
import type { DocumentFilter } from './document-filter.ts';
import { FoldedPassages } from './fold-passages.ts';
import type { Passage } from './passage.ts';
import { fuseHits, type Fusion, type KeywordHit } from './fuse-hits.ts';
import { matchKeywords } from './match-keywords.ts';
import { lacksVectors } from './lacks-vectors.ts';
import { nearestPassages, type NearestPassages } from './nearest-passages.ts';
import { contentOf } from './question.ts';
import {
  questionTarget,
  questionVector,
  type KeywordReason,
  type QuestionAccess,
  type QuestionVector,
} from './question-vector.ts';
import { readPassages } from './read-passages.ts';

export interface KnowledgeQuery {
  spaceId: string;
  /** null: every collection of the space. */
  collectionIds: string[] | null;
  query: string;
  /** Max passages, at least 1. */
  limit: number;
  /** Weight of the vector search against the keyword search, 0 to 1. */
  alpha: number;
  /** Omitted: every document. */
  filter?: DocumentFilter;
}

export interface KnowledgeAnswer {
  passages: Passage[];
  /** `keyword` without a vector search. */
  mode: 'keyword' | 'hybrid';
  /** Why passages were not, or in the mode `hybrid` not everywhere, searched by meaning. */
  reason: KeywordReason | null;
  /** The embedding generation whose vectors were searched. */
  generation: string | null;
}

/** Max hits of each search that are ranked. */
const candidates = 200;
/** Hits per passage of the answer that are read at first: some are joined, and copies are left out. */
const foldedFrom = 2;

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
  const passages = await best(em, searched, { keyword, vector: null });
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
  const passages = await inTransaction((em) => best(em, searched, { keyword, vector }));
  const reason = isPartial ? 'not_embedded' : null;
  return { passages, mode: 'hybrid', reason, generation: questionVector.embeddingId };
}

/** What both searches search. */
interface Searched {
  collections: Collection[];
  query: KnowledgeQuery;
  principalId: string;
}

async function byKeyword(
  em: EntityManager,
  { collections, query: { query, filter = {} }, principalId }: Searched,
): Promise<KeywordHit[]> {
  const reading = await sourceReading(em, collections, principalId);
  const question = contentOf(query);
  const hits: KeywordHit[] = [];
  for (const [config, members] of Map.groupBy(collections, (collection) => collection.textSearchConfig)) {
    const collectionIds = members.map(({ id }) => id);
    const passages = members.reduce((sum, { chunkCount }) => sum + chunkCount, 0);
    const tenantId = members[0]?.tenantId ?? '';
    const side = { tenantId, collectionIds, config, question, passages, filter, reading, limit: candidates };
    hits.push(...(await matchKeywords(em, side)));
  }
  return hits;
}

interface ByMeaning {
  /** null without collections. */
  vector: NearestPassages | null;
  /** Whether passages had no vector. */
  isPartial: boolean;
}

async function byMeaning(
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

/** Reads all candidates only where those read at first leave places of the answer free, such as copies of one text. */
async function best(
  em: EntityManager,
  { query: { alpha, limit } }: Searched,
  hits: Pick<Fusion, 'keyword' | 'vector'>,
): Promise<Passage[]> {
  const fused = fuseHits({ ...hits, alpha, limit: 2 * candidates });
  const atFirst = foldedFrom * limit;
  const folded = new FoldedPassages(limit);
  for (const passage of await readPassages(em, fused.slice(0, atFirst))) {
    folded.add(passage);
  }
  if (!folded.isFull) {
    for (const passage of await readPassages(em, fused.slice(atFirst))) {
      if (folded.isFull) {
        break;
      }
      folded.add(passage);
    }
  }
  return folded.toPassages();
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
