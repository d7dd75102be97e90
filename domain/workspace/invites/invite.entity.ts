import { defineEntity } from '@mikro-orm/core';
import { DomainError } from '#domain/foundation/kernel/errors.ts';
import type { InviteStatus } from './invite-status.ts';

const schema = defineEntity({
  name: 'Invite',
  tableName: 'invites',
  properties: (p) => ({
    tenantId: p.uuid().primary(),
    id: p.uuid().primary(),
    spaceId: p.uuid(),
    /** null: erased with its principal. */
    email: p.text().nullable(),
    roleKey: p.text(),
    status: p.text().$type<InviteStatus>().default('pending'),
    invitedBy: p.uuid(),
    answeredBy: p.uuid().nullable(),
    answeredAt: p.datetime().nullable(),
    expiresAt: p.datetime().defaultRaw("now() + interval '7 days'"),
    createdAt: p.datetime().defaultRaw('now()'),
  }),
});

export class Invite extends schema.class {
  /** The status at `now`, also before the sweep has stored it. */
  statusAt(now: Date): InviteStatus {
    return this.status === 'pending' && this.expiresAt <= now ? 'expired' : this.status;
  }

  /**
   * Ends a pending invite. The same principal may repeat the same answer.
   * @returns false for a repeat
   * @throws `invite_expired`, `invalid_state` for an invite with another answer, or answered by another principal
   */
  answer(status: 'accepted' | 'declined' | 'revoked', by: string, now: Date): boolean {
    const present = this.statusAt(now);
    if (present === status && (status === 'revoked' || this.answeredBy === by)) {
      return false;
    }
    if (present === 'expired') {
      throw new DomainError('invite_expired', 'This invite has expired.');
    }
    if (present !== 'pending') {
      throw new DomainError('invalid_state', 'This invite was answered already.');
    }
    this.status = status;
    this.answeredBy = by;
    this.answeredAt = now;
    return true;
  }
}
schema.setClass(Invite);
