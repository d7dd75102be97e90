import { LockMode } from '@mikro-orm/core';
import type { Context } from '#domain/access/context.ts';
import { spaceOf } from '#domain/access/space-of.ts';
import { notFound } from '#domain/kernel/errors.ts';
import { SpaceMember } from './space-member.entity.ts';

/** A membership of the caller's space, by its own id or by its principal's, locked for a change. @throws `member_not_found` */
export async function lockMember(
  ctx: Context,
  where: { id: string } | { principalId: string },
): Promise<SpaceMember> {
  const member = await ctx.em.findOne(
    SpaceMember,
    { spaceId: spaceOf(ctx.caller), ...where },
    { lockMode: LockMode.PESSIMISTIC_WRITE },
  );
  if (member === null) {
    throw notFound('member_not_found');
  }
  return member;
}
