import type { EntityManager } from '@mikro-orm/postgresql';
import type { Secrets } from '#domain/kernel/secrets.ts';
import type { Session } from '#domain/sessions/session.entity.ts';

/**
 * Keeps what a new session was begun with: a hash of its browser's name, without the numbers of its version, which
 * change by themselves. @returns whether the principal has signed in before, and never with this one, as far as
 * sessions are kept
 */
export async function rememberDevice(
  { em, secrets }: { em: EntityManager; secrets: Secrets },
  session: Session,
  userAgent: string | null,
): Promise<boolean> {
  const { tenantId, id, principalId } = session;
  const name = (userAgent ?? '').replaceAll(/[\d._]+/g, '');
  session.deviceHash = secrets.mac('token', `device/${principalId}|${name}`).toString('base64url');
  await em.flush();
  const [before] = await em.execute<{ sessions: number; same: number }[]>(
    `select count(*)::int as sessions, (count(*) filter (where device_hash = ?))::int as same from sessions
     where tenant_id = ? and principal_id = ? and id <> ? and device_hash is not null`,
    [session.deviceHash, tenantId, principalId, id],
  );
  return before !== undefined && before.sessions > 0 && before.same === 0;
}
