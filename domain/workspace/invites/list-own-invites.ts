import { authorizeOwn } from '#domain/foundation/access/authorize-own.ts';
import type { Context } from '#domain/foundation/access/context.ts';
import type { Page } from '#domain/foundation/kernel/page.ts';
import { databaseNow } from '#domain/foundation/persistence/database-now.ts';
import { keysetPage } from '#domain/foundation/persistence/keyset-list.ts';
import { Principal } from '#domain/identity/principals/principal.entity.ts';
import { Space } from '#domain/workspace/spaces/space.entity.ts';
import { Invite } from './invite.entity.ts';
import { sentTo } from './invited-address.ts';

/** An invite as its recipient sees it, with the space's name. */
export interface OwnInvite {
  invite: Invite;
  spaceName: string;
}

/**
 * The invites into any space of the tenant that the caller can answer now, newest first: those to its verified
 * address, ignoring case. Needs no grant; a caller without such an address has no invites.
 * @throws `missing_permission` for a key restricted to other permissions, `invalid_cursor`
 */
export async function listOwnInvites(
  ctx: Context,
  input: { limit: number; cursor: string | null },
): Promise<Page<OwnInvite>> {
  const { caller, em } = ctx;
  const { principalId } = caller;
  authorizeOwn(caller, 'invites.read', principalId);
  const { email } = await em.findOneOrFail(Principal, { id: principalId });
  const page = await keysetPage(ctx, {
    ...input,
    entity: Invite,
    where: {
      status: 'pending',
      expiresAt: { $gt: await databaseNow(em) },
      ...(email == null ? { id: { $in: [] } } : sentTo(email)),
    },
    operation: 'invites.own',
    filters: { principalId },
  });
  const spaces = await em.find(Space, { id: { $in: page.items.map(({ spaceId }) => spaceId) } });
  const names = new Map(spaces.map(({ id, name }) => [id, name]));
  return {
    ...page,
    items: page.items.map((invite) => ({ invite, spaceName: names.get(invite.spaceId) ?? '' })),
  };
}
