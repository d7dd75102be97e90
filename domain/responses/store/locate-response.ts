import type { EntityManager } from '@mikro-orm/postgresql';

/** The space of a response of the current tenant, also of a recently expired or deleted one; null: unknown. */
export async function locateResponse(em: EntityManager, responseId: string): Promise<string | null> {
  const [row] = await em.execute<{ space_id: string }[]>('select space_id from response_ids where id = ?', [
    responseId,
  ]);
  return row?.space_id ?? null;
}
