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
  /** null: all passages have words of the collection's language. */
  languageChange: LanguageChange | null;
}

/** A change of the language that is under way. */
export interface LanguageChange {
  /** The text search configurations that passages may still have. */
  former: string[];
  /** Passages that have been looked at, and about how many there are to look at. */
  chunksDone: number;
  chunksTotal: number;
  startedAt: Date;
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
    languageChange: await languageChange(em, collection),
  };
}

async function languageChange(
  em: EntityManager,
  { tenantId, id }: Collection,
): Promise<LanguageChange | null> {
  const [row] = await em.execute<{ former: string[]; done: string; total: string; started_at: Date }[]>(
    `select former::text[] as former, least(chunks_done, chunks_total) as done, chunks_total as total, started_at
     from language_changes where tenant_id = ? and collection_id = ?`,
    [tenantId, id],
  );
  return row === undefined
    ? null
    : {
        former: row.former,
        chunksDone: Number(row.done),
        chunksTotal: Number(row.total),
        startedAt: new Date(row.started_at),
      };
}
