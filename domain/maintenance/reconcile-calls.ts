import { nilUuid } from '#domain/kernel/ids.ts';
import type { Database } from '#domain/persistence/database.ts';
import type { UnitOfWork } from '#domain/persistence/unit-of-work.ts';
import { lockHead } from '#domain/responses/head.ts';
import { settleLostCalls } from '#domain/responses/lost-calls.ts';
import { sweep } from './sweep.ts';

/** Settles the ledger of ended responses whose calls lost their worker: no attempt of theirs comes any more. */
export async function reconcileCalls(deps: {
  database: Database;
  unitOfWork: UnitOfWork;
}): Promise<{ failed: number }> {
  const { failed } = await sweep<{ tenant_id: string; response_id: string }>(
    deps.database,
    {
      door: 'list_lost_calls',
      start: [nilUuid, ''],
      placeOf: (row) => [row.tenant_id, row.response_id],
    },
    (row) =>
      deps.unitOfWork.inTenant(row.tenant_id, async (em) => {
        const head = await lockHead(em, row.response_id);
        if (head !== null) {
          await settleLostCalls(em, head.response);
        }
      }),
  );
  return { failed };
}
