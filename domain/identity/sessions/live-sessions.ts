import type { EntityManager } from '@mikro-orm/postgresql';
import { announceEnd, isOfOpenProvider } from './end-sessions.ts';
import { maxLiveSessions } from './max-live-sessions.ts';

/**
 * Ends the sessions of a principal beyond the limit, those that were unused for the longest time first. Concurrent
 * sign-ins may exceed the limit by their number. @returns how many it ended
 */
export async function endSuperseded(
  em: EntityManager,
  { tenantId, principalId }: { tenantId: string; principalId: string },
): Promise<number> {
  const ended = await em.execute(
    `with beyond as materialized (
       select s.id from sessions s
       where s.tenant_id = ? and s.principal_id = ? and s.ended_at is null and s.expires_at > now() and ${isOfOpenProvider}
       order by s.last_used_at desc, s.id desc offset ${maxLiveSessions} limit ${maxLiveSessions}),
     held as materialized (
       select id from sessions where tenant_id = ? and id in (select id from beyond) and ended_at is null
       for update skip locked)
     update sessions set ended_at = now(), end_reason = 'superseded'
     where tenant_id = ? and id in (select id from held) returning id`,
    [tenantId, principalId, tenantId, tenantId],
  );
  await announceEnd(em, ended.length > 0 ? tenantId : undefined);
  return ended.length;
}
