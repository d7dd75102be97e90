import type { EntityManager } from '@mikro-orm/postgresql';
import { validate } from 'uuid';
import { Collection } from '#domain/knowledge/collections/collection.entity.ts';
import { sourceReading, type SourceReading } from '#domain/knowledge/collections/source-reading.ts';
import type { DocumentMediaType } from '#domain/knowledge/collections/document-status.ts';
import { notFound } from '#domain/foundation/kernel/errors.ts';
import type { DocumentFilter } from './document-filter.ts';
import { foldPassages } from './fold-passages.ts';
import type { Passage, PlacedPassage } from './passage.ts';
import { fuseHits, type FusedHit, type KeywordHit } from './fuse-hits.ts';
import { matchKeywords } from './match-keywords.ts';
import { nearestPassages } from './nearest-passages.ts';
import { contentOf } from './question.ts';
import {
  questionTarget,
  questionVector,
  type KeywordReason,
  type QuestionAccess,
  type QuestionVector,
} from './question-vector.ts';

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
  /** Why the mode is `keyword`; null for `hybrid`. */
  reason: KeywordReason | null;
  /** The embedding generation whose vectors were searched. */
  generation: string | null;
}

/** Max hits of each search that are ranked. */
const candidates = 200;
/** Hits per passage of the answer: some are joined, and copies are left out. */
const foldedFrom = 2;

/**
 * The best passages of a space for a question, best first. The question is embedded between two transactions.
 * @throws `collection_not_found` for another space's collection.
 */
export async function searchKnowledge(
  access: QuestionAccess,
  query: KnowledgeQuery,
): Promise<KnowledgeAnswer> {
  const { principalId } = access;
  const first = await access.inTransaction(async (em) => {
    const collections = await searchable(em, query);
    const target = await questionTarget(em, access, query);
    return typeof target === 'string'
      ? { answer: await rank(em, { collections, principalId }, query, target) }
      : { collections, target };
  });
  if ('answer' in first) {
    return first.answer;
  }
  const vector = await questionVector(access, first.target, query.query);
  const { collections } = first;
  return access.inTransaction((em) => rank(em, { collections, principalId }, query, vector));
}

async function rank(
  em: EntityManager,
  { collections, principalId }: { collections: Collection[]; principalId: string },
  query: KnowledgeQuery,
  found: QuestionVector | KeywordReason,
): Promise<KnowledgeAnswer> {
  const vector = typeof found === 'string' ? null : found;
  const answer = {
    mode: typeof found === 'string' ? ('keyword' as const) : ('hybrid' as const),
    reason: typeof found === 'string' ? found : null,
    generation: vector?.embeddingId ?? null,
  };
  if (collections.length === 0) {
    return { ...answer, passages: [] };
  }
  const reading = await sourceReading(em, collections, principalId);
  const searched = { collections, reading, filter: query.filter ?? {} };
  const keyword = await byKeyword(em, searched, contentOf(query.query));
  const nearest = vector && (await byMeaning(em, searched, vector));
  const limit = foldedFrom * query.limit;
  const hits = fuseHits({ keyword, vector: nearest, alpha: query.alpha, limit });
  return { ...answer, passages: foldPassages(await load(em, hits), query.limit) };
}

interface Searched {
  collections: Collection[];
  reading: SourceReading | null;
  filter: DocumentFilter;
}

async function byKeyword(
  em: EntityManager,
  { collections, reading, filter }: Searched,
  question: string,
): Promise<KeywordHit[]> {
  const hits: KeywordHit[] = [];
  for (const [config, members] of Map.groupBy(collections, (collection) => collection.textSearchConfig)) {
    const collectionIds = members.map(({ id }) => id);
    const passages = members.reduce((sum, { chunkCount }) => sum + chunkCount, 0);
    const tenantId = members[0]?.tenantId ?? '';
    const query = { tenantId, collectionIds, config, question, passages, filter, reading, limit: candidates };
    hits.push(...(await matchKeywords(em, query)));
  }
  return hits;
}

async function byMeaning(
  em: EntityManager,
  { collections, reading, filter }: Searched,
  vector: QuestionVector,
) {
  return nearestPassages(em, {
    ...vector,
    tenantId: collections[0]?.tenantId ?? '',
    collectionIds: collections.map(({ id }) => id),
    passages: collections.reduce((sum, { chunkCount }) => sum + chunkCount, 0),
    filter,
    reading,
    limit: candidates,
  });
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

interface PassageRow {
  filename: string;
  collection_id: string;
  media_type: DocumentMediaType;
  text: string;
  heading: string | null;
  page: number | null;
  anchor: string | null;
  start_offset: number;
  end_offset: number;
  metadata: Record<string, string>;
}

async function load(em: EntityManager, hits: FusedHit[]): Promise<PlacedPassage[]> {
  if (hits.length === 0) {
    return [];
  }
  const wanted = hits.map(({ documentId, position, generation = null }) => ({
    document_id: documentId,
    position,
    generation,
  }));
  const rows = await em.execute<(PassageRow & { n: number })[]>(
    `select w.n::int4 as n, d.filename, d.media_type, d.metadata, c.collection_id, c.text, c.heading, c.page, c.anchor,
            c.start_offset, c.end_offset
     from rows from (jsonb_to_recordset(?::jsonb) as (document_id uuid, position integer, generation integer))
       with ordinality as w(document_id, position, generation, n)
     join documents d on d.id = w.document_id
     join chunks c on c.tenant_id = d.tenant_id and c.document_id = d.id
       and c.generation = coalesce(w.generation, d.generation) and c.position = w.position
     order by w.n`,
    [JSON.stringify(wanted)],
  );
  return rows.flatMap((row) => {
    const hit = hits[row.n - 1];
    return hit === undefined ? [] : [present(row, hit)];
  });
}

function present(row: PassageRow, hit: FusedHit): PlacedPassage {
  return {
    position: hit.position,
    documentId: hit.documentId,
    filename: row.filename,
    collectionId: row.collection_id,
    mediaType: row.media_type,
    text: row.text,
    heading: row.heading,
    page: row.page,
    anchor: row.anchor,
    score: hit.score,
    keywordScore: hit.keywordScore,
    vectorScore: hit.vectorScore,
    coverage: hit.coverage,
    start: row.start_offset,
    end: row.end_offset,
    attributes: row.metadata,
  };
}
