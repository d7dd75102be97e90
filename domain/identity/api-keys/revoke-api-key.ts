import type { EntityManager } from '@mikro-orm/postgresql';
import { recordEvent } from '#domain/foundation/events/record-event.ts';
import type { Actor } from '#domain/foundation/access/caller.ts';

/**
 * Revokes a key for every process within a second: the database notifies them of every change of a key. Of concurrent
 * revocations, one takes effect.
 */
export async function revokeApiKey(em: EntityManager, actor: Actor, keyId: string): Promise<boolean> {
  const [key] = await em.execute<{ id: string }[]>(
    'update api_keys set revoked_at = now() where key_id = ? and revoked_at is null returning id',
    [keyId],
  );
  if (key === undefined) {
    return false;
  }
  await recordEvent(em, actor, {
    type: 'security.api_key_revoked',
    resource: { type: 'api_key', id: key.id },
  });
  return true;
}
