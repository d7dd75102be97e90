import type { EntityManager } from '@mikro-orm/postgresql';
import type { EmbeddingFault } from '#domain/knowledge/collections/document-status.ts';

/**
 * Ends a document's embedding: it has all vectors of a generation, or those that the model gives. Nothing changes if
 * that generation is not active, or the document's passages were replaced; the lock makes a change of the model wait.
 */
export async function markEmbedded(
  em: EntityManager,
  { tenantId, documentId, generation, embeddingId, fault = null }: Embedded,
): Promise<void> {
  await em.execute(
    `with active as materialized (
       select from embedding_generations where tenant_id = ? and id = ? and state = 'active' for share)
     update documents set embedding_pending = false, embedding_error = ?,
       embedded_count = case when ?::text is null then chunk_count else embedded_count end
     where tenant_id = ? and id = ? and generation = ? and exists (select from active)`,
    [tenantId, embeddingId, fault, fault, tenantId, documentId, generation],
  );
}

export interface Embedded {
  tenantId: string;
  documentId: string;
  /** Of the passages. */
  generation: number;
  embeddingId: string;
  /** Why passages stay without a vector; omitted: none does. */
  fault?: EmbeddingFault | null;
}
