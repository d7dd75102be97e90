import type { EntityManager } from '@mikro-orm/postgresql';
import { foldCase } from './fold-address.ts';
import { Principal } from './principal.entity.ts';

/**
 * A user's address, folded; null: none is known. Every stored address is verified: by the ID token of a sign-in, or by
 * the administrator who created the principal with it. Service accounts and agents stand for no person.
 */
export async function verifiedAddress(em: EntityManager, principalId: string): Promise<string | null> {
  const user = await em.findOne(Principal, { id: principalId, type: 'user', deletedAt: null });
  return user?.email == null ? null : foldCase(user.email);
}
