import type { EntityManager } from '@mikro-orm/postgresql';

/** Estimates again how frequent the words of a collection are: the trigger of the column does, for a large one. */
export async function measureWords(
  em: EntityManager,
  { tenantId, collectionId }: { tenantId: string; collectionId: string },
): Promise<void> {
  await em.execute('delete from lexeme_stats where tenant_id = ? and collection_id = ?', [
    tenantId,
    collectionId,
  ]);
  await em.execute(
    'update collections set lexeme_chunks = 0, chunk_count = chunk_count where tenant_id = ? and id = ?',
    [tenantId, collectionId],
  );
}
