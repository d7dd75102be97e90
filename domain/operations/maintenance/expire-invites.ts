import { expireInvite } from '#domain/workspace/invites/expire-invite.ts';
import { nilUuid } from '#domain/foundation/kernel/ids.ts';
import { listedSweep } from '#domain/operations/sweep-kinds/listed-sweep.ts';

/** Marks pending invites as expired, each in its own transaction with its event. */
export const expireInvites = listedSweep<{ tenant_id: string; invite_id: string }>({
  listFunction: 'list_due_invites',
  start: [nilUuid, nilUuid],
  placeOf: (row) => [row.tenant_id, row.invite_id],
  processRow: ({ unitOfWork }, { tenant_id: tenantId, invite_id: inviteId }) =>
    unitOfWork.inTenant(tenantId, (em) => expireInvite(em, tenantId, inviteId)),
});
