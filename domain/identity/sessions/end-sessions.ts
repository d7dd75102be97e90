import type { EntityManager } from '@mikro-orm/postgresql';
import type { EndReason } from './session.entity.ts';

interface Which {
  sessionId?: string;
  providerId?: string;
  principalId?: string;
  reason: EndReason;
}

/**
 * Ends open sessions for every process at once: each request reads its session from the database, and attached
 * streams are notified. @returns their ids
 */
export async function endSessions(em: EntityManager, which: Which): Promise<string[]> {
  const ended = await em.execute<{ id: string; tenant_id: string }[]>(
    `update sessions set ended_at = now(), end_reason = ?
     where ended_at is null and expires_at > now()
       and (?::uuid is null or id = ?) and (?::uuid is null or provider_id = ?)
       and (?::uuid is null or principal_id = ?)
     returning id, tenant_id`,
    [
      which.reason,
      which.sessionId ?? null,
      which.sessionId ?? null,
      which.providerId ?? null,
      which.providerId ?? null,
      which.principalId ?? null,
      which.principalId ?? null,
    ],
  );
  const [first] = ended;
  if (first !== undefined) {
    await em.execute(`select pg_notify('access', ?)`, [first.tenant_id]);
  }
  return ended.map(({ id }) => id);
}
