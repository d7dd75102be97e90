import type { EntityManager } from '@mikro-orm/postgresql';
import { databaseNow } from '#domain/foundation/persistence/database-now.ts';
import { Session } from '#domain/identity/sessions/session.entity.ts';
import { ApiKey } from '#domain/identity/api-keys/api-key.entity.ts';
import { invalidCredentials } from '#domain/foundation/kernel/errors.ts';
import type { Identity } from '#domain/foundation/access/caller.ts';

/**
 * The current state of the credential of a request that had to wait.
 * @throws `invalid_credentials` for a key or a session that ended meanwhile
 */
export async function reloadIdentity<T extends Identity>(em: EntityManager, identity: T): Promise<T> {
  const { apiKeyId, sessionId } = identity;
  const later = { $gt: await databaseNow(em) };
  if (sessionId != null) {
    const open = { id: sessionId, endedAt: null, providerEndedAt: null, expiresAt: later };
    if ((await em.count(Session, open)) === 0) {
      throw invalidCredentials();
    }
  }
  if (apiKeyId === null) {
    return identity;
  }
  const good = { id: apiKeyId, revokedAt: null, expiresAt: later };
  const key = await em.findOne(ApiKey, good, { refresh: true });
  if (key === null) {
    throw invalidCredentials();
  }
  return { ...identity, keyPermissions: key.permissions ?? null };
}
