import type { EntityManager } from '@mikro-orm/postgresql';

/**
 * Keeps a collection from being deleted until the end of the transaction. Taken before the locks of its documents and
 * of their content, which a deletion takes in that order.
 * @returns whether it is there
 */
export async function shareCollection(em: EntityManager, collectionId: string): Promise<boolean> {
  const found = await em.execute('select 1 from collections where id = ? for key share', [collectionId]);
  return found.length > 0;
}
