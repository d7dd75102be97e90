import type { EntityManager } from '@mikro-orm/postgresql';
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

/** The hits, with those marked that have no vector of a generation. */
export async function withoutVectors(
  em: EntityManager,
  { tenantId, embeddingId }: Pick<NearestQuery, 'tenantId' | 'embeddingId'>,
  hits: readonly KeywordHit[],
): Promise<KeywordHit[]> {
  const addresses = hits.map(({ documentId, generation, position }) => ({
    documentId,
    generation,
    position,
  }));
  const embedded = await em.execute<{ at: number }[]>(
    `select (h.n - 1)::int as at
     from jsonb_array_elements(?::jsonb) with ordinality as h(hit, n)
     where exists (
       select from chunk_vectors v where v.tenant_id = ? and v.embedding_id = ?
         and v.document_id = (h.hit->>'documentId')::uuid and v.generation = (h.hit->>'generation')::int
         and v.position = (h.hit->>'position')::int)`,
    [JSON.stringify(addresses), tenantId, embeddingId],
  );
  const isEmbedded = new Set(embedded.map(({ at }) => at));
  return hits.map((hit, at) => (isEmbedded.has(at) ? hit : { ...hit, lacksVector: true }));
}
