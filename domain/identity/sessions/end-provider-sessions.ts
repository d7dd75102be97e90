import type { EntityManager } from '@mikro-orm/postgresql';
import { announceEnd } from './end-sessions.ts';
import type { EndReason } from './session.entity.ts';

interface Of {
  tenantId: string;
  id: string;
}

/** Of the newest so many, those that were open are counted. */
const maxCounted = 10_000;

/**
 * Ends all sessions that have begun with a locked provider, however many they are: its row says that those until now
 * are void. @returns the number of those that were open, as far as they are counted
 */
export async function endSessionsOfProvider(
  em: EntityManager,
  { tenantId, id }: Of,
  reason: Extract<EndReason, 'provider_disabled' | 'provider_changed'>,
): Promise<number> {
  const [row] = await em.execute<{ open: number }[]>(
    `select count(*) filter (where expires_at > now())::int as open from (
       select s.expires_at from sessions s
       where s.tenant_id = ? and s.provider_id = ? and s.ended_at is null and s.created_at > coalesce(
         (select sessions_ended_at from identity_providers where tenant_id = ? and id = ?), '-infinity')
       order by s.created_at desc limit ${maxCounted}) newest`,
    [tenantId, id, tenantId, id],
  );
  await em.execute(
    // The clock of the database may have gone back since the newest session began.
    `update identity_providers p set sessions_end_reason = ?, sessions_ended_at = greatest(clock_timestamp(),
       (select max(s.created_at) from sessions s
        where s.tenant_id = p.tenant_id and s.provider_id = p.id and s.ended_at is null))
     where p.tenant_id = ? and p.id = ?`,
    [reason, tenantId, id],
  );
  await announceEnd(em, tenantId);
  return row?.open ?? 0;
}
