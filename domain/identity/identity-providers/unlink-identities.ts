import type { EntityManager } from '@mikro-orm/postgresql';

/**
 * Ends every sign-in that was begun with the provider, also those whose session waits to be fetched. One that is
 * being finished is waited for.
 */
export async function closeLogins(em: EntityManager, providerId: string): Promise<void> {
  await em.execute(
    `update login_transactions set consumed_at = coalesce(consumed_at, now()), handle_hash = null
     where provider_id = ? and (consumed_at is null or handle_hash is not null)`,
    [providerId],
  );
}

/** Its subjects are nobody here from now on, until they are linked again. @returns how many were somebody */
export async function unlinkIdentities(em: EntityManager, providerId: string): Promise<number> {
  const unlinked = await em.execute(
    'delete from external_identities where provider_id = ? returning principal_id',
    [providerId],
  );
  return unlinked.length;
}
