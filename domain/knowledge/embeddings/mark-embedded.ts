import type { EntityManager } from '@mikro-orm/postgresql';

/**
 * Ends a document's embedding: it has all vectors of a generation. Nothing changes if that generation is not active, or
 * the document's passages were replaced; the lock makes a change of the model wait.
 */
export async function markEmbedded(
  em: EntityManager,
  { tenantId, documentId, generation, embeddingId }: Embedded,
): Promise<void> {
  await em.execute(
    `with active as materialized (
       select from embedding_generations where tenant_id = ? and id = ? and state = 'active' for share)
     update documents set embedding_pending = false, embedded_count = chunk_count
     where tenant_id = ? and id = ? and generation = ? and exists (select from active)`,
    [tenantId, embeddingId, tenantId, documentId, generation],
  );
}

export interface Embedded {
  tenantId: string;
  documentId: string;
  /** Of the passages. */
  generation: number;
  embeddingId: string;
}
