import type { Context } from '#domain/access/context.ts';
import { authorize } from '#domain/access/policy.ts';
import { spaceOf } from '#domain/access/space-of.ts';
import { SpaceMember } from './space-member.entity.ts';

const mostMembers = 1_000;

/** The first thousand members of the caller's space, in the order in which they came. @throws `missing_permission` */
export async function listMembers(ctx: Context): Promise<SpaceMember[]> {
  authorize(ctx.caller, 'members.read');
  return ctx.em.find(
    SpaceMember,
    { spaceId: spaceOf(ctx.caller) },
    { orderBy: { createdAt: 'asc', principalId: 'asc' }, limit: mostMembers },
  );
}
