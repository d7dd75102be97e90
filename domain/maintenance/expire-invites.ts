import { expireInvite } from '#domain/invites/expire-invite.ts';
import { nilUuid } from '#domain/kernel/ids.ts';
import type { Database } from '#domain/persistence/database.ts';
import type { UnitOfWork } from '#domain/persistence/unit-of-work.ts';
import { RowFailures } from './row-failures.ts';

const batch = 200;

/** Writes down which pending invites have run out, each in a transaction of its own with its event. */
export async function expireInvites(deps: {
  database: Database;
  unitOfWork: UnitOfWork;
}): Promise<{ expired: number; failed: number }> {
  const failures = new RowFailures();
  let expired = 0;
  for (let after = { tenant_id: nilUuid, invite_id: nilUuid }; ;) {
    const rows = await deps.database.call<typeof after>(
      'list_due_invites',
      'select * from app.list_due_invites($1, $2, $3)',
      [after.tenant_id, after.invite_id, batch],
    );
    for (const { tenant_id: tenantId, invite_id: inviteId } of rows) {
      await failures.collect(async () => {
        const written = await deps.unitOfWork.inTenant(tenantId, (em) =>
          expireInvite(em, tenantId, inviteId),
        );
        expired += written ? 1 : 0;
      });
    }
    const last = rows.at(-1);
    if (last === undefined || rows.length < batch) {
      return { expired, failed: failures.count };
    }
    after = last;
  }
}
