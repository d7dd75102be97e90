import type { EntityManager } from '@mikro-orm/postgresql';

export async function endFanOut(
  em: EntityManager,
  { tenantId, eventId }: { tenantId: string; eventId: string },
): Promise<void> {
  await em.execute('delete from fan_outs where tenant_id = ? and event_id = ?', [tenantId, eventId]);
}
