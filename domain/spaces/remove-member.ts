import type { Context } from '#domain/access/context.ts';
import { authorize } from '#domain/access/policy.ts';
import { spaceOf } from '#domain/access/space-of.ts';
import { recordEvent } from '#domain/events/record-event.ts';
import { notFound } from '#domain/kernel/errors.ts';
import { SpaceMember } from './space-member.entity.ts';

/** Takes a member out of the caller's space; what it may do in the whole tenant stays. @throws `missing_permission`, `member_not_found` */
export async function removeMember(ctx: Context, input: { principalId: string }): Promise<void> {
  authorize(ctx.caller, 'members.remove');
  const spaceId = spaceOf(ctx.caller);
  const member = await ctx.em.findOne(SpaceMember, { spaceId, principalId: input.principalId });
  if (member === null) {
    throw notFound('member_not_found');
  }
  await ctx.em.remove(member).flush();
  await recordEvent(ctx.em, ctx.caller, {
    type: 'space.member_removed',
    resource: { type: 'space', id: spaceId },
    metadata: { principal_id: member.principalId, role: member.roleKey },
  });
  await ctx.em.execute(`select pg_notify('access', ?)`, [ctx.caller.tenantId]);
}
