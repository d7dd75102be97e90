import { averageUuid } from '#domain/foundation/persistence/average-uuid.ts';
import { withoutIndex } from '#domain/foundation/persistence/without-index.ts';

/** What a scan reads: all vectors, those of some lists and those that have no list yet, or candidates from a graph. */
export type Part = 'all' | { lists: readonly number[] } | { graph: number };

export interface Scanned {
  tenantId: string;
  /** The embedding generation. */
  embeddingId: string;
  /** Collections of one space; never empty. */
  collectionIds: string[];
}

/** Vectors that a graph gives: as many as one pass over it finds. */
export const graphCandidates = 1_000;

export const isGraph = (part: Part): part is { graph: number } => typeof part === 'object' && 'graph' in part;

/**
 * The vectors `v` of a statement, as its `from` and the beginning of its `where`.
 * @param signs of the question
 */
export function scannedVectors(
  { tenantId, embeddingId, collectionIds }: Scanned,
  part: Part,
  signs: string,
): { sql: string; params: unknown[] } {
  const collections = `{${collectionIds.join(',')}}`;
  const ofCollections = [tenantId, embeddingId, collections];
  if (part === 'all') {
    return {
      sql: 'chunk_vectors v where v.tenant_id = ? and v.embedding_id = ? and v.collection_id = any(?::uuid[])',
      params: ofCollections,
    };
  }
  if (isGraph(part)) {
    return {
      sql: 'app.nearest_in_vector_graph(?, ?, ?::uuid[], ?::bit varying, ?) v where true',
      params: [embeddingId, part.graph, collections, signs, graphCandidates],
    };
  }
  return {
    sql: `(${ofGeneration(unlisted)}
       union all select n.* from unnest(?::smallint[]) as nearest(list)
       cross join lateral (${ofGeneration(listed)} offset 0) n) v where true`,
    params: [...ofCollections, `{${part.lists.join(',')}}`, ...ofCollections],
  };
}

/**
 * Lists are asked for one by one, and each as a range, whose share PostgreSQL estimates without its statistics. Of an equal
 * value it would expect as many vectors as other spaces have: most have no list, and their vectors are in list 0. Of many
 * lists at once it would expect that to read a whole generation of average size takes less time.
 */
const unlisted = 'v.list between (select 0::smallint) and (select 0::smallint)';
/** The first condition is that of the index in which the vectors of a list lie together. */
const listed = 'v.list > 0 and v.list between nearest.list and nearest.list';

/** No index by collection is read: a generation has all vectors of its space. */
const ofGeneration = (list: string) =>
  `select v.document_id, v.generation, v.position, v.bits from chunk_vectors v
   where v.tenant_id = ${averageUuid} and v.embedding_id = ${averageUuid}
     and ${withoutIndex('v.collection_id', 'any(?::uuid[])')} and ${list}`;
