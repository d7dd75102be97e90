import { LockMode } from '@mikro-orm/core';
import type { Context } from '#domain/foundation/access/context.ts';
import { knownRoleIds } from '#domain/identity/roles/role-ids.ts';
import { spaceOf } from '#domain/foundation/access/space-of.ts';
import { notFound } from '#domain/foundation/kernel/errors.ts';
import { databaseNow } from '#domain/foundation/persistence/database-now.ts';
import type { InviteStatus } from './invite-status.ts';
import { Invite } from './invite.entity.ts';

/** An invite with its current status by the database's clock. */
export interface InviteView {
  invite: Invite;
  status: InviteStatus;
  /** null when the role of an ended invite was deleted since. */
  roleId: string | null;
}

export async function viewInvites(ctx: Context, invites: readonly Invite[]): Promise<InviteView[]> {
  const now = await databaseNow(ctx.em);
  const idOf = await knownRoleIds(
    ctx.em,
    invites.map(({ roleKey }) => roleKey),
  );
  return invites.map((invite) => ({
    invite,
    status: invite.statusAt(now),
    roleId: idOf(invite.roleKey),
  }));
}

export async function viewInvite(ctx: Context, invite: Invite): Promise<InviteView> {
  const [view] = await viewInvites(ctx, [invite]);
  if (view === undefined) {
    throw notFound('invite_not_found');
  }
  return view;
}

/** @throws `invite_not_found`, also for another space's invite */
export async function findInvite(ctx: Context, inviteId: string, lockMode?: LockMode): Promise<Invite> {
  const invite = await ctx.em.findOne(
    Invite,
    { id: inviteId, spaceId: spaceOf(ctx.caller) },
    lockMode === undefined ? {} : { lockMode },
  );
  if (invite === null) {
    throw notFound('invite_not_found');
  }
  return invite;
}

/** Like `findInvite`, locked for its answer. */
export function lockInvite(ctx: Context, inviteId: string): Promise<Invite> {
  return findInvite(ctx, inviteId, LockMode.PESSIMISTIC_WRITE);
}
