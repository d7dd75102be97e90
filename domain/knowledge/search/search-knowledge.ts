import type { EntityManager } from '@mikro-orm/postgresql';
import { validate } from 'uuid';
import { Collection } from '#domain/knowledge/collections/collection.entity.ts';
import { notFound } from '#domain/foundation/kernel/errors.ts';
import { fuseHits, type FusedHit, type KeywordHit } from './fuse-hits.ts';
import { matchKeywords } from './match-keywords.ts';
import { contentOf } from './question.ts';
import type { VectorIndex } from './vector-index.ts';

export interface KnowledgeQuery {
  spaceId: string;
  /** null: every collection of the space. */
  collectionIds: string[] | null;
  query: string;
  /** Max passages, at least 1. */
  limit: number;
  /** Weight of the vector search against the keyword search, 0 to 1. */
  alpha: number;
}

export interface Passage {
  documentId: string;
  filename: string;
  collectionId: string;
  text: string;
  /** The headings above the text, outermost first, joined by ` › `. */
  heading: string | null;
  /** 0 to 1. */
  score: number;
  /** Share of the question's weight that the passage contains, 0 to 1. */
  coverage: number;
  /** UTF-16 offsets in the document's extracted text. */
  start: number;
  end: number;
  attributes: Record<string, string>;
}

export interface KnowledgeAnswer {
  passages: Passage[];
  /** `keyword` without a vector search. */
  mode: 'keyword' | 'hybrid';
}

/** Max hits of each search that are ranked. */
const candidates = 200;

/**
 * The best passages of a space for a question, best first.
 * @throws `collection_not_found` for another space's collection.
 */
export async function searchKnowledge(
  em: EntityManager,
  query: KnowledgeQuery,
  vectors: VectorIndex | null = null,
): Promise<KnowledgeAnswer> {
  const mode = vectors === null ? 'keyword' : 'hybrid';
  const collections = await searchable(em, query);
  if (collections.length === 0) {
    return { passages: [], mode };
  }
  const question = contentOf(query.query);
  const keyword: KeywordHit[] = [];
  for (const [config, members] of Map.groupBy(collections, (collection) => collection.textSearchConfig)) {
    const collectionIds = members.map(({ id }) => id);
    const passages = members.reduce((sum, { chunkCount }) => sum + chunkCount, 0);
    keyword.push(
      ...(await matchKeywords(em, { collectionIds, config, question, passages, limit: candidates })),
    );
  }
  const collectionIds = collections.map(({ id }) => id);
  const vector =
    vectors === null ? null : await vectors.nearest(em, { collectionIds, question, limit: candidates });
  const hits = fuseHits({ keyword, vector, alpha: query.alpha, limit: query.limit });
  return { passages: await load(em, hits), mode };
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
  text: string;
  heading: string | null;
  start_offset: number;
  end_offset: number;
  metadata: Record<string, string>;
}

async function load(em: EntityManager, hits: FusedHit[]): Promise<Passage[]> {
  if (hits.length === 0) {
    return [];
  }
  const wanted = hits.map(({ documentId, position, generation = null }) => ({
    document_id: documentId,
    position,
    generation,
  }));
  const rows = await em.execute<(PassageRow & { n: number })[]>(
    `select w.n::int4 as n, d.filename, d.metadata, c.collection_id, c.text, c.heading, c.start_offset, c.end_offset
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

function present(row: PassageRow, hit: FusedHit): Passage {
  return {
    documentId: hit.documentId,
    filename: row.filename,
    collectionId: row.collection_id,
    text: row.text,
    heading: row.heading,
    score: hit.score,
    coverage: hit.coverage,
    start: row.start_offset,
    end: row.end_offset,
    attributes: row.metadata,
  };
}
