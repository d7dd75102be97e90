import type { EntityManager } from '@mikro-orm/postgresql';
import { isReadable, type SourceReading } from '#domain/knowledge/collections/source-reading.ts';
import { heavyBits, signBits, similarity } from '#domain/knowledge/embeddings/quantise.ts';
import { readLists } from '#domain/knowledge/embeddings/vector-lists.ts';
import { documentsMatching, type DocumentFilter } from './document-filter.ts';

export interface NearestQuery {
  tenantId: string;
  /** The embedding generation that is searched. */
  embeddingId: string;
  mean: Float32Array;
  /** Lists of its vectors; 0: it has none. */
  listCount: number;
  /** Of length 1. */
  vector: Float32Array;
  /** Collections of one space; never empty. */
  collectionIds: string[];
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

/** Passages of the searched collections from which only the lists near the question are read. */
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
 * Of many passages, the scan reads the lists of vectors that are nearest to the question. It reads all of them where a
 * filter or the choice of collections leaves too few passages of those lists.
 */
export async function nearestPassages(em: EntityManager, query: NearestQuery): Promise<NearestPassages> {
  const lists = await listsToRead(em, query);
  const found = await scan(em, query, lists);
  return lists !== null && found.hits.length < query.limit ? scan(em, query, null) : found;
}

/** @returns null for all of them */
async function listsToRead(em: EntityManager, query: NearestQuery): Promise<number[] | null> {
  const { vector, listCount, passages } = query;
  const isFiltered = query.reading !== null || documentsMatching(query).params.length > 0;
  if (listCount === 0 || passages <= listedFrom || isFiltered) {
    return null;
  }
  const lists = await readLists(em, query);
  return lists && [0, ...lists.nearest(vector, nearLists)];
}

async function scan(
  em: EntityManager,
  query: NearestQuery,
  lists: readonly number[] | null,
): Promise<NearestPassages> {
  const filtered = documentsMatching(query);
  const readable = documentsReadable(query);
  const signs = signBits(query.vector, query.mean);
  const rows = await em.execute<
    { document_id: string | null; generation: number; position: number; vector: Buffer }[]
  >(
    `with near as materialized (
       select v.document_id, v.generation, v.position from chunk_vectors v
       where v.tenant_id = ? and v.embedding_id = ? and v.collection_id = any(?::uuid[])
         ${lists === null ? '' : 'and v.list = any(?::smallint[])'} ${readable.sql} ${filtered.sql('v.document_id')}
       order by bit_count((v.bits # ?::bit varying) & ?::bit varying)
         + bit_count((v.bits # ?::bit varying) & ?::bit varying), v.bits limit ?),
     sample as materialized (
       select e.vector from chunk_embeddings e where e.tenant_id = ? and e.embedding_id = ?
       order by e.text_hash limit ${sampleSize})
     select n.document_id, n.generation, n.position, e.vector
     from near n join chunk_embeddings e on e.tenant_id = ? and e.embedding_id = ?
       and e.document_id = n.document_id and e.generation = n.generation and e.position = n.position
     union all
     select null, 0, 0, vector from sample`,
    [
      query.tenantId,
      query.embeddingId,
      `{${query.collectionIds.join(',')}}`,
      ...(lists === null ? [] : [`{${lists.join(',')}}`]),
      ...readable.params,
      ...filtered.params,
      ...heavyShares.flatMap((share) => [signs, heavyBits(query.vector, query.mean, share)]),
      compared(query),
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
  return { hits: hits.slice(0, query.limit), background: statistics(sample) };
}

/**
 * Passages whose cosines are computed: sign bits alone misplace more of them the more passages there are. Chosen by
 * `npm run bench:search`.
 */
function compared({ passages, limit }: NearestQuery): number {
  return Math.max(limit, passages > 300_000 ? 1_500 : 600);
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
