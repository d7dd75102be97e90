import type { EntityManager } from '@mikro-orm/postgresql';
import { maxLiveSessions } from './max-live-sessions.ts';
import type { EndReason } from './session.entity.ts';

type Which = { reason: EndReason } & ({ sessionId: string } | { principalId: string });

/** Of a session `s`, whether nothing has ended all sessions of its provider since it began. */
export const isOfOpenProvider = `not exists (select from identity_providers p
  where p.tenant_id = s.tenant_id and p.id = s.provider_id and p.sessions_ended_at >= s.created_at)`;

/**
 * Ends open sessions for every process at once: each request reads its session from the database, and attached
 * streams are notified. Of more sessions of a principal than the limit, made before there was one, the others are left
 * as they are: no session of a deleted principal is accepted.
 * @returns their ids
 */
export async function endSessions(em: EntityManager, which: Which): Promise<string[]> {
  const [column, id] =
    'sessionId' in which
      ? (['id', which.sessionId] as const)
      : (['principal_id', which.principalId] as const);
  const ended = await em.execute<{ id: string; tenant_id: string }[]>(
    `update sessions set ended_at = now(), end_reason = ?
     where ended_at is null and id = any (array(
       select s.id from sessions s
       where s.${column} = ? and s.ended_at is null and s.expires_at > now() and ${isOfOpenProvider}
       limit ${2 * maxLiveSessions}))
     returning id, tenant_id`,
    [which.reason, id],
  );
  await announceEnd(em, ended[0]?.tenant_id);
  return ended.map((session) => session.id);
}

/** What is attached with a session that has ended is cut off. @param tenantId omitted: none has ended */
export async function announceEnd(em: EntityManager, tenantId: string | undefined): Promise<void> {
  if (tenantId !== undefined) {
    await em.execute(`select pg_notify('access', ?)`, [tenantId]);
  }
}
