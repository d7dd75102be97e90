import type { EntityManager } from '@mikro-orm/postgresql';
import { recordEvent, type Actor } from '#domain/events/record-event.ts';
import { ApiKey } from './api-key.entity.ts';

/** Ends a key for every process within a second: the database tells them of every change of a key. */
export async function revokeApiKey(em: EntityManager, actor: Actor, keyId: string): Promise<boolean> {
  const key = await em.findOne(ApiKey, { keyId });
  if (key === null || key.revokedAt != null) {
    return false;
  }
  key.revokedAt = new Date();
  await recordEvent(em, actor, {
    type: 'security.api_key_revoked',
    resource: { type: 'api_key', id: key.id },
  });
  return true;
}
