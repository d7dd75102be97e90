import type { EntityManager } from '@mikro-orm/postgresql';
import { readableOf } from '#domain/knowledge/collections/source-reading.ts';
import { documentsMatching } from './document-filter.ts';
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
