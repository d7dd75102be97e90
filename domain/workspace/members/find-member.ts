import { LockMode } from '@mikro-orm/core';
import type { Context } from '#domain/foundation/access/context.ts';
import { spaceOf } from '#domain/foundation/access/space-of.ts';
import { notFound } from '#domain/foundation/kernel/errors.ts';
import { SpaceMember } from '#domain/identity/roles/space-member.entity.ts';

type MemberRef = { id: string } | { principalId: string };

/** A membership of the caller's space, by its own id or by its principal's. @throws `member_not_found` */
export async function findMember(ctx: Context, where: MemberRef, lockMode?: LockMode): Promise<SpaceMember> {
  const member = await ctx.em.findOne(
    SpaceMember,
    { spaceId: spaceOf(ctx.caller), ...where },
    lockMode === undefined ? {} : { lockMode },
  );
  if (member === null) {
    throw notFound('member_not_found');
  }
  return member;
}

/** Like `findMember`, locked for a change. */
export function lockMember(ctx: Context, where: MemberRef): Promise<SpaceMember> {
  return findMember(ctx, where, LockMode.PESSIMISTIC_WRITE);
}
