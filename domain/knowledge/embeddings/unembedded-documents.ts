import type { EntityManager } from '@mikro-orm/postgresql';
import type { EmbeddingGeneration } from './embedding-generation.entity.ts';

export interface UnembeddedDocument {
  documentId: string;
  /** Of its current passages. */
  generation: number;
}

/** The next document of a space after an id that a generation may lack vectors of: while it is built, every one. */
export async function nextToEmbed(
  em: EntityManager,
  { tenantId, spaceId }: { tenantId: string; spaceId: string },
  { state }: EmbeddingGeneration,
  after: string | null,
): Promise<UnembeddedDocument | null> {
  const [row] = await em.execute<{ id: string; generation: number }[]>(
    `select d.id, d.generation from documents d
     where d.tenant_id = ? and d.collection_id in (select id from collections where tenant_id = ? and space_id = ?)
       and d.chunk_count > 0 and (d.embedding_pending and d.status = 'ready' or ?) and d.id > coalesce(?::uuid, '00000000-0000-0000-0000-000000000000')
     order by d.id limit 1`,
    [tenantId, tenantId, spaceId, state === 'building', after],
  );
  return row === undefined ? null : { documentId: row.id, generation: row.generation };
}
