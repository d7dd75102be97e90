import { nilUuid } from '#domain/foundation/kernel/ids.ts';
import { lockHead } from '#domain/responses/store/head.ts';
import { reconcileLostCalls } from '#domain/responses/calls/lost-calls.ts';
import { listedSweep } from '#domain/operations/sweep-kinds/listed-sweep.ts';

/** Closes ledger entries of ended responses whose calls lost their worker, since no further attempt will. */
export const reconcileCalls = listedSweep<{ tenant_id: string; response_id: string }>({
  listFunction: 'list_lost_calls',
  start: [nilUuid, ''],
  placeOf: (row) => [row.tenant_id, row.response_id],
  processRow: ({ unitOfWork }, row) =>
    unitOfWork.inTenant(row.tenant_id, async (em) => {
      const head = await lockHead(em, row.response_id);
      if (head !== null) {
        await reconcileLostCalls(em, head.response);
      }
      return head !== null;
    }),
});
