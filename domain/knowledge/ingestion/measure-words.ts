import type { EntityManager } from '@mikro-orm/postgresql';

/**
 * Estimates again how frequent the words of a collection are: the trigger of the column does, for a large one. The row of
 * the collection is locked before the statistics, in the order of that trigger where others cause it.
 * @returns false where another transaction has the row and is not to be waited for
 */
export async function measureWords(
  em: EntityManager,
  { tenantId, collectionId, waits }: { tenantId: string; collectionId: string; waits: boolean },
): Promise<boolean> {
  const locked = await em.execute(
    `select 1 from collections where tenant_id = ? and id = ? for no key update ${waits ? '' : 'skip locked'}`,
    [tenantId, collectionId],
  );
  if (locked.length === 0) {
    return false;
  }
  await em.execute('delete from lexeme_stats where tenant_id = ? and collection_id = ?', [
    tenantId,
    collectionId,
  ]);
  await em.execute(
    'update collections set lexeme_chunks = 0, chunk_count = chunk_count where tenant_id = ? and id = ?',
    [tenantId, collectionId],
  );
  return true;
}
