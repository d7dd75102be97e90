import type { Context } from '#domain/access/context.ts';
import { authorize } from '#domain/access/policy.ts';
import { spaceOf } from '#domain/access/space-of.ts';
import type { Page } from '#domain/kernel/page.ts';
import { keysetPage } from '#domain/persistence/keyset-list.ts';
import { viewMembers, type MemberView } from './member-view.ts';
import { SpaceMember } from './space-member.entity.ts';

/** The members of the caller's space, newest first. @throws `missing_permission`, `invalid_cursor` */
export async function listMembers(
  ctx: Context,
  input: { limit: number; cursor: string | null },
): Promise<Page<MemberView>> {
  authorize(ctx.caller, 'members.read');
  const spaceId = spaceOf(ctx.caller);
  const page = await keysetPage(ctx, {
    entity: SpaceMember,
    where: { spaceId },
    ...input,
    operation: 'members.list',
    filters: { spaceId },
  });
  return { ...page, items: await viewMembers(ctx.em, page.items) };
}
