import type { Context } from '#domain/foundation/access/context.ts';
import { authorize } from '#domain/foundation/access/policy.ts';
import { spaceOf } from '#domain/foundation/access/space-of.ts';
import type { Page } from '#domain/foundation/kernel/page.ts';
import { databaseNow } from '#domain/foundation/persistence/database-now.ts';
import { keysetPage } from '#domain/foundation/persistence/keyset-list.ts';
import type { InviteStatus } from './invite-status.ts';
import { findInvite, viewInvite, viewInvites, type InviteView } from './invite-view.ts';
import { Invite } from './invite.entity.ts';

/** The invites into the caller's space, newest first. @throws `missing_permission`, `invalid_cursor` */
export async function listInvites(
  ctx: Context,
  input: { status: InviteStatus | null; limit: number; cursor: string | null },
): Promise<Page<InviteView>> {
  authorize(ctx.caller, 'invites.read');
  const spaceId = spaceOf(ctx.caller);
  const { status, limit, cursor } = input;
  const page = await keysetPage(ctx, {
    entity: Invite,
    where: { spaceId, ...(await standing(ctx, status)) },
    limit,
    cursor,
    operation: 'invites.list',
    filters: { spaceId, status },
  });
  return { ...page, items: await viewInvites(ctx, page.items) };
}

/** @throws `missing_permission`, `invite_not_found` */
export async function readInvite(ctx: Context, input: { inviteId: string }): Promise<InviteView> {
  authorize(ctx.caller, 'invites.read');
  return viewInvite(ctx, await findInvite(ctx, input.inviteId));
}

async function standing(ctx: Context, status: InviteStatus | null): Promise<object> {
  if (status !== 'pending' && status !== 'expired') {
    return status === null ? {} : { status };
  }
  const now = await databaseNow(ctx.em);
  return status === 'pending'
    ? { status, expiresAt: { $gt: now } }
    : { $or: [{ status }, { status: 'pending', expiresAt: { $lte: now } }] };
}
