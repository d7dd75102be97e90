import type { EntityManager } from '@mikro-orm/postgresql';

/** Whether a document of a connector has readers. */
export async function hasReaders(
  em: EntityManager,
  { tenantId, id }: { tenantId: string; id: string },
): Promise<boolean> {
  const found = await em.execute(
    `select 1 from source_documents s
     join documents d on d.tenant_id = s.tenant_id and d.id = s.document_id
     where s.tenant_id = ? and s.connector_id = ? and d.source_readers is not null limit 1`,
    [tenantId, id],
  );
  return found.length > 0;
}
