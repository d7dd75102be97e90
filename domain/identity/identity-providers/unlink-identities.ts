import type { EntityManager } from '@mikro-orm/postgresql';

/**
 * Ends every open sign-in with the provider, also those whose session is not redeemed yet. Waits for a sign-in that
 * is being finished, also while it expires. Expired sign-ins stay as they are until they are deleted: anybody may
 * begin a sign-in, so there may be any number of them.
 */
export async function closeLogins(em: EntityManager, providerId: string): Promise<void> {
  await em.execute(
    `update login_transactions set consumed_at = coalesce(consumed_at, now()), handle_hash = null
     where provider_id = ? and (consumed_at is null and expires_at > now() - interval '1 minute'
       or handle_hash is not null and handle_expires_at > now() - interval '1 minute')`,
    [providerId],
  );
}

/**
 * Unlinks the provider's subjects from their users, until they are linked again. @returns the number of links removed
 */
export async function unlinkIdentities(em: EntityManager, providerId: string): Promise<number> {
  const [row] = await em.execute<{ unlinked: number }[]>(
    `with gone as (delete from external_identities where provider_id = ? returning 1)
     select count(*)::int as unlinked from gone`,
    [providerId],
  );
  return row?.unlinked ?? 0;
}
