import type { EntityManager } from '@mikro-orm/postgresql';
import { isReadable, type SourceReading } from '#domain/knowledge/collections/source-reading.ts';
import { heavyBits, signBits, similarity } from '#domain/knowledge/embeddings/quantise.ts';
import { readLists } from '#domain/knowledge/embeddings/vector-lists.ts';
import { averageUuid } from '#domain/foundation/persistence/average-uuid.ts';
import { withoutIndex } from '#domain/foundation/persistence/without-index.ts';
import { documentsMatching, type DocumentFilter } from './document-filter.ts';
import { graphCandidates, isGraph, scannedVectors, type Part, type Scanned } from './scanned-vectors.ts';

export interface NearestQuery extends Scanned {
  mean: Float32Array;
  /** Lists of its vectors; 0: it has none. */
  listCount: number;
  /** Number of the graph that all of its vectors are in; 0: there is none. */
  graph: number;
  /** Of length 1. */
  vector: Float32Array;
  filter: DocumentFilter;
  /** What the caller may read at the sources; null: no collection enforces that. */
  reading: SourceReading | null;
  /** Number of passages in these collections. */
  passages: number;
  limit: number;
}

export interface NearestPassages {
  /** Best first. */
  hits: { documentId: string; generation: number; position: number; cosine: number }[];
  /** Cosines of the question with any passages of the space: what an unrelated passage has. */
  background: { mean: number; deviation: number };
}

/** Shares of the question's components whose signs are compared. Chosen by `npm run bench:search`. */
const heavyShares = [0.65, 0.3];

/** Vectors that the background is estimated from. */
const sampleSize = 256;

/** Passages of the searched collections from which only a graph's or the lists' part near the question is read. */
const listedFrom = 100_000;
/** Lists that are read: with 512 of them, a twelfth of the vectors. */
const nearLists = 32;

/**
 * Two steps in one statement's snapshot: the scan compares sign bits, then the cosines of its best are computed from
 * the stored components. Vectors of replaced and deleted passages do not exist, so none needs to be filtered out.
 *
 * Signs are compared in the components that weigh most in the question, twice in the heaviest of them: with all signs
 * alike, three times as many cosines find fewer of the nearest. Of passages with as many different signs, the order of
 * their bits decides, and not that of the table: the same passages are found after each repair or restore.
 *
 * Of many passages, the candidates come from a graph of the vectors, which finds those with the fewest different signs
 * of all: more of them are taken, since the components do not weigh there. Without a graph the scan reads the lists of
 * vectors that are nearest to the question. It reads all of them where a filter or the choice of collections leaves too
 * few passages.
 */
export async function nearestPassages(em: EntityManager, query: NearestQuery): Promise<NearestPassages> {
  if (isNarrowed(query)) {
    return scan(em, query, 'all');
  }
  if (query.graph > 0) {
    const part = { graph: query.graph };
    const found = await scan(em, query, part);
    if (found.compared === compared(query, part)) {
      return found;
    }
  }
  const lists = query.listCount === 0 ? null : await readLists(em, query);
  if (lists !== null) {
    const found = await scan(em, query, { lists: lists.nearest(query.vector, nearLists) });
    if (found.hits.length >= query.limit) {
      return found;
    }
  }
  return scan(em, query, 'all');
}

/** Whether the passages are few, or chosen by a condition: all their vectors are read. */
function isNarrowed(query: NearestQuery): boolean {
  return query.passages <= listedFrom || query.reading !== null || documentsMatching(query).params.length > 0;
}

async function scan(
  em: EntityManager,
  query: NearestQuery,
  part: Part,
): Promise<NearestPassages & { compared: number }> {
  const filtered = documentsMatching(query);
  const readable = documentsReadable(query);
  const signs = signBits(query.vector, query.mean);
  const vectors = scannedVectors(query, part, signs);
  const rows = await em.execute<
    { document_id: string | null; generation: number; position: number; vector: Buffer }[]
  >(
    `with near as materialized (
       select v.document_id, v.generation, v.position from ${vectors.sql}
         ${readable.sql} ${filtered.sql('v.document_id')}
       order by bit_count((v.bits # ?::bit varying) & ?::bit varying)
         + bit_count((v.bits # ?::bit varying) & ?::bit varying), v.bits limit ?),
     sample as materialized (
       select e.vector from chunk_embeddings e where e.tenant_id = ${averageUuid} and e.embedding_id = ${averageUuid}
       order by e.text_hash limit ${sampleSize})
     select n.document_id, n.generation, n.position, e.vector
     from near n join chunk_embeddings e on e.tenant_id = ${averageUuid} and ${withoutIndex('e.embedding_id')}
       and e.document_id = n.document_id and e.generation = n.generation and e.position = n.position
     union all
     select null, 0, 0, vector from sample`,
    [
      ...vectors.params,
      ...readable.params,
      ...filtered.params,
      ...heavyShares.flatMap((share) => [signs, heavyBits(query.vector, query.mean, share)]),
      compared(query, part),
      query.tenantId,
      query.embeddingId,
      query.tenantId,
      query.embeddingId,
    ],
  );
  const hits: NearestPassages['hits'] = [];
  const sample: number[] = [];
  for (const { document_id: documentId, generation, position, vector } of rows) {
    const cosine = similarity(query.vector, vector, query.mean);
    if (documentId === null) {
      sample.push(cosine);
    } else {
      hits.push({ documentId, generation, position, cosine });
    }
  }
  hits.sort((a, b) => b.cosine - a.cosine);
  return { hits: hits.slice(0, query.limit), background: statistics(sample), compared: hits.length };
}

/**
 * Passages whose cosines are computed: sign bits alone misplace more of them the more passages there are. Chosen by
 * `npm run bench:search`.
 */
function compared({ passages, limit }: NearestQuery, part: Part): number {
  const wanted = Math.max(limit, passages > 300_000 ? 1_500 : 600);
  return isGraph(part) ? Math.min(wanted, graphCandidates) : wanted;
}

function documentsReadable({ tenantId, collectionIds, reading }: NearestQuery) {
  if (reading === null) {
    return { sql: '', params: [] };
  }
  const { sql, params } = isReadable('r', reading);
  return {
    sql: `and v.document_id in (
         select r.id from documents r where r.tenant_id = ? and r.collection_id = any(?::uuid[]) and ${sql})`,
    params: [tenantId, `{${collectionIds.join(',')}}`, ...params],
  };
}

function statistics(sample: readonly number[]): NearestPassages['background'] {
  const mean = sample.reduce((sum, value) => sum + value, 0) / Math.max(1, sample.length);
  const variance = sample.reduce((sum, value) => sum + (value - mean) ** 2, 0) / Math.max(1, sample.length);
  return { mean, deviation: Math.sqrt(variance) };
}
