import type { EntityManager } from '@mikro-orm/postgresql';

/**
 * Locks a collection against deletion until the end of the transaction. Lock order: before its documents and their
 * content, as a deletion does.
 * @returns whether the collection exists
 */
export async function shareCollection(em: EntityManager, collectionId: string): Promise<boolean> {
  const found = await em.execute(
    'select 1 from collections where id = ? and deleted_at is null for key share',
    [collectionId],
  );
  return found.length > 0;
}
