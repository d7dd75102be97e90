import { LockMode } from '@mikro-orm/core';
import type { Context } from '#domain/access/context.ts';
import { authorize } from '#domain/access/policy.ts';
import { notFound } from '#domain/kernel/errors.ts';
import type { Page } from '#domain/kernel/page.ts';
import { keysetPage } from '#domain/persistence/keyset-list.ts';
import { IdentityProvider } from './identity-provider.entity.ts';

/** @throws `identity_provider_not_found`, also for one of another tenant */
export async function findProvider(
  { em }: Pick<Context, 'em'>,
  providerId: string,
  lockMode?: LockMode,
): Promise<IdentityProvider> {
  const provider = await em.findOne(
    IdentityProvider,
    { id: providerId },
    lockMode === undefined ? {} : { lockMode },
  );
  if (provider === null) {
    throw notFound('identity_provider_not_found');
  }
  return provider;
}

/** The same, locked for a change. */
export function lockProvider(ctx: Pick<Context, 'em'>, providerId: string): Promise<IdentityProvider> {
  return findProvider(ctx, providerId, LockMode.PESSIMISTIC_WRITE);
}

/** @throws `missing_permission`, `identity_provider_not_found` */
export async function readProvider(ctx: Context, input: { providerId: string }): Promise<IdentityProvider> {
  authorize(ctx.caller, 'identity_providers.read');
  return findProvider(ctx, input.providerId);
}

/** The tenant's identity providers, newest first. @throws `missing_permission`, `invalid_cursor` */
export async function listProviders(
  ctx: Context,
  input: { limit: number; cursor: string | null },
): Promise<Page<IdentityProvider>> {
  authorize(ctx.caller, 'identity_providers.read');
  return keysetPage(ctx, {
    ...input,
    entity: IdentityProvider,
    where: {},
    operation: 'identity_providers.list',
    filters: {},
  });
}
