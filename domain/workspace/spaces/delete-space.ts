import { announceChange } from '#domain/foundation/access/announce-change.ts';
import type { Context } from '#domain/foundation/access/context.ts';
import { authorize } from '#domain/foundation/access/policy.ts';
import { beginErasure } from '#domain/foundation/erasures/begin-erasure.ts';
import { recordEvent } from '#domain/foundation/events/record-event.ts';
import { SpaceMember } from '#domain/identity/roles/space-member.entity.ts';
import { lockSpace } from './lock-space.ts';

/**
 * Deletes the caller's space: from the commit on nobody finds it or anything in it. Its work is stopped, its
 * connections are withdrawn and its rows are erased afterwards.
 * @throws `missing_permission`, `space_not_found`
 */
export async function deleteSpace(ctx: Context): Promise<void> {
  const { caller, em } = ctx;
  authorize(caller, 'spaces.delete');
  const { id, name } = await lockSpace(ctx);
  const members = await em.count(SpaceMember, { spaceId: id });
  await beginErasure(ctx, 'space', id);
  await recordEvent(em, caller, {
    type: 'space.deleted',
    resource: { type: 'space', id },
    metadata: { name, members },
  });
  await announceChange(em, caller.tenantId);
}
