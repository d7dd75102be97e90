import type { EntityManager } from '@mikro-orm/postgresql';

/** Deletes documents with their passages. @returns their number */
export async function forgetDocuments(
  em: EntityManager,
  tenantId: string,
  ids: readonly string[],
): Promise<number> {
  if (ids.length === 0) {
    return 0;
  }
  const [row] = await em.execute<{ n: number }[]>(
    `with gone as (delete from documents where tenant_id = ?
       and id in (select jsonb_array_elements_text(?::jsonb)::uuid) returning 1)
     select count(*)::int as n from gone`,
    [tenantId, JSON.stringify(ids)],
  );
  return row?.n ?? 0;
}
