import type { EntityManager } from '@mikro-orm/postgresql';
import { DomainError } from '#domain/foundation/kernel/errors.ts';

/** Keys of one principal that are neither revoked nor expired. */
const maxLiveKeys = 1_000;

/** Concurrent requests may exceed the limit by their number. @throws `invalid_state` */
export async function requireRoomForKey(
  em: EntityManager,
  of: { tenantId: string; principalId: string },
): Promise<void> {
  const [row] = await em.execute<{ live: number }[]>(
    `select count(*)::int as live from (
       select from api_keys where tenant_id = ? and principal_id = ? and revoked_at is null and expires_at > now()
       limit ${maxLiveKeys}) k`,
    [of.tenantId, of.principalId],
  );
  if ((row?.live ?? 0) >= maxLiveKeys) {
    throw new DomainError(
      'invalid_state',
      `A principal has at most ${maxLiveKeys} keys that are neither revoked nor expired: revoke some first.`,
    );
  }
}

/**
 * For a principal that is deleted. Of more keys than the limit, made before there was one, the others are left as they
 * are: no key of a deleted principal is accepted.
 * @returns their number
 */
export async function revokeLiveKeys(
  em: EntityManager,
  of: { tenantId: string; principalId: string },
): Promise<number> {
  const [row] = await em.execute<{ revoked: number }[]>(
    `with gone as (
       update api_keys set revoked_at = now() where tenant_id = ? and id = any (array(
         select id from api_keys
         where tenant_id = ? and principal_id = ? and revoked_at is null and expires_at > now()
         limit ${2 * maxLiveKeys})) returning 1)
     select count(*)::int as revoked from gone`,
    [of.tenantId, of.tenantId, of.principalId],
  );
  return row?.revoked ?? 0;
}
