import type { Context } from '#domain/foundation/access/context.ts';
import { requireRoleOfNoMore } from '#domain/identity/roles/find-role.ts';
import {
  requireKeyOfNoMore,
  requireNoMoreThanAny,
  requireNoMoreThanAnyAddress,
} from '#domain/identity/roles/require-no-more.ts';
import type { IdentityProvider } from './identity-provider.entity.ts';

/** The role of a user who signs in for the first time. */
export const firstRole = 'member';

/**
 * Changing a provider can change who its subjects are. So the caller must hold all permissions of its linked
 * identities and, if it provisions automatically, all that a new user gets or could get by an invite.
 * @throws `missing_permission` with the first permission that the caller or its key lacks
 */
export async function requireProviderRights(
  ctx: Context,
  { id, provisioning }: Pick<IdentityProvider, 'id' | 'provisioning'>,
): Promise<void> {
  const [linked] = await ctx.em.execute('select from external_identities where provider_id = ? limit 1', [
    id,
  ]);
  if (linked !== undefined) {
    requireKeyOfNoMore(ctx.caller, null);
    await requireNoMoreThanAny(ctx, {
      principals: {
        condition: 'in (select principal_id from external_identities where provider_id = ?)',
        parameter: id,
      },
      keyPermissions: null,
    });
  }
  if (provisioning === 'automatic') {
    await requireRightsOfNewUser(ctx);
  }
}

/**
 * All that a user gets by its first sign-in, or could get by an invite. @throws `missing_permission`
 */
export async function requireRightsOfNewUser(ctx: Context): Promise<void> {
  await requireNoMoreThanAnyAddress(ctx);
  await requireRoleOfNoMore(ctx, firstRole);
}
