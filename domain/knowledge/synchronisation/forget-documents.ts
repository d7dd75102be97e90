import type { EntityManager } from '@mikro-orm/postgresql';

/**
 * Deletes documents with their passages. They are locked in the order of their ids, as by all that lock several: a delete
 * alone takes them in the order of its plan. @returns their number
 */
export async function forgetDocuments(
  em: EntityManager,
  tenantId: string,
  ids: readonly string[],
): Promise<number> {
  if (ids.length === 0) {
    return 0;
  }
  const given = `tenant_id = ? and id in (select jsonb_array_elements_text(?::jsonb)::uuid)`;
  const params = [tenantId, JSON.stringify(ids)];
  await em.execute(`select from documents where ${given} order by id for update`, params);
  const [row] = await em.execute<{ n: number }[]>(
    `with gone as (delete from documents where ${given} returning 1) select count(*)::int as n from gone`,
    params,
  );
  return row?.n ?? 0;
}
