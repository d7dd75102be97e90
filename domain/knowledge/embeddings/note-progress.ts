import type { EntityManager } from '@mikro-orm/postgresql';

/** Documents up to this one have their vectors. @returns whether the generation is still being built */
export async function noteProgress(
  em: EntityManager,
  embeddingId: string,
  documentId: string,
): Promise<boolean> {
  const updated = await em.execute<unknown[]>(
    `update embedding_generations
     set done_through = ?, documents_done = documents_done + (done_through is distinct from ?)::int, last_error = null
     where id = ? and state = 'building' returning id`,
    [documentId, documentId, embeddingId],
  );
  return updated.length > 0;
}

/** Stores why the model did not embed. */
export async function noteFailure(em: EntityManager, embeddingId: string, code: string): Promise<void> {
  await em.execute('update embedding_generations set last_error = ? where id = ?', [code, embeddingId]);
}
