import type { EntityManager } from '@mikro-orm/postgresql';
import type { Collection } from './collection.entity.ts';
import { documentStatuses, type DocumentStatus } from './document-status.ts';

export interface CollectionStatistics {
  documents: Record<DocumentStatus, number>;
  /** Of the originals, before equal ones are stored once. */
  bytes: number;
  chunks: number;
  /** False: the collection has more documents than are counted. */
  complete: boolean;
}

/** Documents that one request counts. */
const maxCounted = 100_000;

/** Counts the documents in an index that has all it needs; passages are counted as they are written. */
export async function collectionStatistics(
  em: EntityManager,
  collection: Collection,
): Promise<CollectionStatistics> {
  const rows = await em.execute<{ status: DocumentStatus; documents: number; bytes: string }[]>(
    `select status, count(*)::int as documents, sum(byte_size)::bigint as bytes from
       (select status, byte_size from documents where tenant_id = ? and collection_id = ? limit ${maxCounted + 1}) as d
     group by status`,
    [collection.tenantId, collection.id],
  );
  const counted = new Map(rows.map((row) => [row.status, row.documents]));
  return {
    documents: Object.fromEntries(
      documentStatuses.map((status) => [status, counted.get(status) ?? 0]),
    ) as Record<DocumentStatus, number>,
    bytes: rows.reduce((sum, row) => sum + Number(row.bytes), 0),
    chunks: collection.chunkCount,
    complete: rows.reduce((sum, row) => sum + row.documents, 0) <= maxCounted,
  };
}
