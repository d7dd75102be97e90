import { nilUuid } from '#domain/kernel/ids.ts';
import type { Database } from '#domain/persistence/database.ts';
import type { UnitOfWork } from '#domain/persistence/unit-of-work.ts';
import { lockHead } from '#domain/responses/head.ts';
import { settleLostCalls } from '#domain/responses/lost-calls.ts';
import { RowFailures } from './row-failures.ts';

const batch = 200;

/** Settles the ledger of ended responses whose calls lost their worker: no attempt of theirs comes any more. */
export async function reconcileCalls(deps: {
  database: Database;
  unitOfWork: UnitOfWork;
}): Promise<{ failed: number }> {
  const failures = new RowFailures();
  for (let after = { tenant_id: nilUuid, response_id: '' }; ;) {
    const rows = await deps.database.call<typeof after>(
      'list_lost_calls',
      'select * from app.list_lost_calls($1, $2, $3)',
      [after.tenant_id, after.response_id, batch],
    );
    for (const row of rows) {
      await failures.collect(() =>
        deps.unitOfWork.inTenant(row.tenant_id, async (em) => {
          const head = await lockHead(em, row.response_id);
          if (head !== null) {
            await settleLostCalls(em, head.response);
          }
        }),
      );
    }
    const last = rows.at(-1);
    if (last === undefined || rows.length < batch) {
      return { failed: failures.count };
    }
    after = last;
  }
}
