import type { Context } from '#domain/foundation/access/context.ts';
import { authorize } from '#domain/foundation/access/policy.ts';
import { spaceOf } from '#domain/foundation/access/space-of.ts';
import type { Page } from '#domain/foundation/kernel/page.ts';
import { keysetPage } from '#domain/foundation/persistence/keyset-list.ts';
import { viewMembers, type MemberView } from './member-view.ts';
import { SpaceMember } from '#domain/identity/roles/space-member.entity.ts';

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
