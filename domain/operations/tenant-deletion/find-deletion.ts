import { LockMode } from '@mikro-orm/core';
import type { EntityManager } from '@mikro-orm/postgresql';
import { notFound } from '#domain/foundation/kernel/errors.ts';
import { TenantDeletion } from './tenant-deletion.entity.ts';

/** The newest deletion of the transaction's tenant; null: nobody has requested one. */
export async function newestDeletion(
  em: EntityManager,
  { lock = false } = {},
): Promise<TenantDeletion | null> {
  return em.findOne(
    TenantDeletion,
    {},
    {
      orderBy: { requestedAt: 'desc', id: 'desc' },
      ...(lock ? { lockMode: LockMode.PESSIMISTIC_WRITE, refresh: true } : {}),
    },
  );
}

/** @throws `deletion_not_found` */
export async function requireDeletion(em: EntityManager, options = {}): Promise<TenantDeletion> {
  const deletion = await newestDeletion(em, options);
  if (deletion === null) {
    throw notFound('deletion_not_found');
  }
  return deletion;
}

/** A deletion by its id, locked for a change of its row. */
export async function lockDeletion(em: EntityManager, id: string): Promise<TenantDeletion> {
  return em.findOneOrFail(TenantDeletion, { id }, { lockMode: LockMode.PESSIMISTIC_WRITE, refresh: true });
}
