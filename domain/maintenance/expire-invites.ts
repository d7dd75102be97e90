import { expireInvite } from '#domain/invites/expire-invite.ts';
import { nilUuid } from '#domain/kernel/ids.ts';
import type { Database } from '#domain/persistence/database.ts';
import type { UnitOfWork } from '#domain/persistence/unit-of-work.ts';
import { sweep } from './sweep.ts';

/** Writes down which pending invites have run out, each in a transaction of its own with its event. */
export async function expireInvites(deps: {
  database: Database;
  unitOfWork: UnitOfWork;
}): Promise<{ expired: number; failed: number }> {
  let expired = 0;
  const { failed } = await sweep<{ tenant_id: string; invite_id: string }>(
    deps.database,
    {
      door: 'list_due_invites',
      start: [nilUuid, nilUuid],
      placeOf: (row) => [row.tenant_id, row.invite_id],
    },
    async ({ tenant_id: tenantId, invite_id: inviteId }) => {
      const written = await deps.unitOfWork.inTenant(tenantId, (em) => expireInvite(em, tenantId, inviteId));
      expired += written ? 1 : 0;
    },
  );
  return { expired, failed };
}
