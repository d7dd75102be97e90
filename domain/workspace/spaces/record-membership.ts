import type { Context } from '#domain/foundation/access/context.ts';
import { recordEvent } from '#domain/foundation/events/record-event.ts';
import type { SpaceMember } from '#domain/identity/roles/space-member.entity.ts';

/** Records the event of a new membership, both for an added member and for an accepted invite. */
export async function recordMembership(ctx: Context, member: SpaceMember): Promise<void> {
  await recordEvent(ctx.em, ctx.caller, {
    type: 'space.member_added',
    resource: { type: 'space', id: member.spaceId },
    metadata: { principal_id: member.principalId, role: member.roleKey, member_id: member.id },
  });
}
