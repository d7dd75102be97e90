import { LockMode } from '@mikro-orm/core';
import type { EntityManager } from '@mikro-orm/postgresql';
import { rebuildActor } from '#domain/identity/principals/rebuild-actor.ts';
import { recordEvent } from '#domain/foundation/events/record-event.ts';
import { databaseNow } from '#domain/foundation/persistence/database-now.ts';
import { Invite } from './invite.entity.ts';

/** Marks a due pending invite as expired; an ended or not yet due invite stays unchanged. */
export async function expireInvite(em: EntityManager, tenantId: string, inviteId: string): Promise<boolean> {
  const invite = await em.findOne(Invite, { id: inviteId }, { lockMode: LockMode.PESSIMISTIC_WRITE });
  if (invite?.status !== 'pending' || invite.statusAt(await databaseNow(em)) !== 'expired') {
    return false;
  }
  invite.status = 'expired';
  await em.flush();
  const inviter = await rebuildActor(em, { tenantId, principalId: invite.invitedBy });
  await recordEvent(
    em,
    { ...inviter, origin: { via: 'schedule', requestId: null } },
    {
      type: 'space.invite_expired',
      resource: { type: 'invite', id: invite.id },
      metadata: { space_id: invite.spaceId },
    },
  );
  return true;
}
