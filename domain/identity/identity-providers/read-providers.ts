import type { Context } from '#domain/foundation/access/context.ts';
import { authorize } from '#domain/foundation/access/policy.ts';
import { notFound } from '#domain/foundation/kernel/errors.ts';
import type { Page } from '#domain/foundation/kernel/page.ts';
import { keysetPage } from '#domain/foundation/persistence/keyset-list.ts';
import { IdentityProvider } from './identity-provider.entity.ts';

/** @throws `identity_provider_not_found`, also for another tenant's */
export async function findProvider(
  { em }: Pick<Context, 'em'>,
  providerId: string,
): Promise<IdentityProvider> {
  const provider = await em.findOne(IdentityProvider, { id: providerId });
  if (provider === null) {
    throw notFound('identity_provider_not_found');
  }
  return provider;
}

/** Like `findProvider`, locked for a change; new sign-ins can still begin with it. */
export async function lockProvider(ctx: Pick<Context, 'em'>, providerId: string): Promise<IdentityProvider> {
  const provider = await findProvider(ctx, providerId);
  await ctx.em.execute('select from identity_providers where id = ? for no key update', [provider.id]);
  return ctx.em.refreshOrFail(provider);
}

/** Like `findProvider`, locked against changes until the end of the transaction. */
export async function holdProvider(ctx: Pick<Context, 'em'>, providerId: string): Promise<IdentityProvider> {
  const provider = await findProvider(ctx, providerId);
  await ctx.em.execute('select from identity_providers where id = ? for share', [provider.id]);
  return ctx.em.refreshOrFail(provider);
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
