import { LockMode } from '@mikro-orm/core';
import { validate } from 'uuid';
import { authorize } from '#domain/foundation/access/policy.ts';
import type { Context } from '#domain/foundation/access/context.ts';
import { notFound } from '#domain/foundation/kernel/errors.ts';
import type { Page } from '#domain/foundation/kernel/page.ts';
import { keysetPage } from '#domain/foundation/persistence/keyset-list.ts';
import { Credential } from './credential.entity.ts';

/**
 * A credential of the caller's space, or of the tenant if the caller was admitted to no space.
 * @throws `credential_not_found`, also for another space's
 */
export async function findCredential(
  ctx: Context,
  credentialId: string,
  lockMode: LockMode = LockMode.NONE,
): Promise<Credential> {
  const where = { id: credentialId, spaceId: ctx.caller.spaceId, ownerId: null };
  const credential = validate(credentialId) ? await ctx.em.findOne(Credential, where, { lockMode }) : null;
  if (credential === null) {
    throw notFound('credential_not_found');
  }
  return credential;
}

/** Like `findCredential`, with the read permission. @throws `missing_permission`, `credential_not_found` */
export async function readCredential(ctx: Context, input: { credentialId: string }): Promise<Credential> {
  authorize(ctx.caller, 'credentials.read');
  return findCredential(ctx, input.credentialId);
}

/**
 * The credentials of the space, or of the tenant as such, newest first. @throws `missing_permission`,
 * `invalid_cursor`
 */
export async function listCredentials(
  ctx: Context,
  input: { limit: number; cursor: string | null },
): Promise<Page<Credential>> {
  authorize(ctx.caller, 'credentials.read');
  const { spaceId } = ctx.caller;
  return keysetPage(ctx, {
    ...input,
    entity: Credential,
    where: { spaceId, ownerId: null },
    operation: 'credentials.list',
    filters: { spaceId },
    exclude: ['sealedValue'],
  });
}
