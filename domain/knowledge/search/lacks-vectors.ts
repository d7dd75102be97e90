import type { EntityManager } from '@mikro-orm/postgresql';
import { averageUuid } from '#domain/foundation/persistence/average-uuid.ts';
import { withoutIndex } from '#domain/foundation/persistence/without-index.ts';
import { readableOf } from '#domain/knowledge/collections/source-reading.ts';
import { documentsMatching } from './document-filter.ts';
import type { KeywordHit } from './fuse-hits.ts';
import type { NearestQuery } from './nearest-passages.ts';

/**
 * Whether a search by meaning misses passages, since they are not embedded yet. Pending documents have an index, and are
 * few: nothing is counted.
 */
export async function lacksVectors(
  em: EntityManager,
  query: Pick<NearestQuery, 'tenantId' | 'collectionIds' | 'filter' | 'reading'>,
): Promise<boolean> {
  const { tenantId, collectionIds, reading } = query;
  const filtered = documentsMatching(query);
  const readable = readableOf('d', reading);
  const [row] = await em.execute<{ lacks: boolean }[]>(
    `select exists (
       select from documents d where d.tenant_id = ? and d.collection_id = any(?::uuid[])
         and d.embedding_pending and d.embedded_count < d.chunk_count
         and ${readable.sql} ${filtered.sql('d.id')}) as lacks`,
    [tenantId, `{${collectionIds.join(',')}}`, ...readable.params, ...filtered.params],
  );
  return row?.lacks === true;
}

/** The hits, with those marked that have no vector of a generation. One look-up for each, whatever the statistics know. */
export async function withoutVectors(
  em: EntityManager,
  { tenantId, embeddingId }: Pick<NearestQuery, 'tenantId' | 'embeddingId'>,
  hits: readonly KeywordHit[],
): Promise<KeywordHit[]> {
  const addresses = hits.map(({ documentId, generation, position }, at) => ({
    at,
    document_id: documentId,
    generation,
    position,
  }));
  const embedded = await em.execute<{ at: number }[]>(
    `select h.at
     from jsonb_to_recordset(?::jsonb) as h(at integer, document_id uuid, generation integer, position integer)
     cross join lateral (
       select from chunk_vectors v
       where v.tenant_id = ${averageUuid} and ${withoutIndex('v.embedding_id')}
         and v.document_id = h.document_id and v.generation = h.generation and v.position = h.position
       limit 1) found`,
    [JSON.stringify(addresses), tenantId, embeddingId],
  );
  const isEmbedded = new Set(embedded.map(({ at }) => at));
  return hits.map((hit, at) => (isEmbedded.has(at) ? hit : { ...hit, lacksVector: true }));
}
