import type { EntityManager } from '@mikro-orm/postgresql';
import { reconcileLostCalls } from '#domain/responses/calls/lost-calls.ts';
import { Response } from '#domain/responses/record/response.entity.ts';
import { listedSweep } from '#domain/operations/sweep-kinds/listed-sweep.ts';
import { lockPurge } from './purge-lock.ts';

const dayMs = 86_400_000;

interface ExpiredRow {
  tenant_id: string;
  response_id: string;
  due: string;
}

/**
 * Deletes the content of expired and deleted responses, as the purge role; each response is one transaction. Usage
 * and events stay.
 */
export const purgeResponses = listedSweep<ExpiredRow>({
  listFunction: 'list_expired',
  start: ['-infinity', ''],
  placeOf: (row) => [row.due, row.response_id],
  async processRow({ purge }, row) {
    await purge.inTenant(row.tenant_id, async (em) => {
      await lockPurge(em, row.tenant_id);
      await purgeResponse(em, row.response_id);
    });
    return true;
  },
});

async function purgeResponse(em: EntityManager, responseId: string): Promise<void> {
  const response = await em.findOne(Response, { id: responseId });
  if (response !== null) {
    // The ledger is deleted, but the event of a call that may have taken effect is recorded first.
    await reconcileLostCalls(em, response, { evenHeld: true });
  }
  const released = await em.execute<{ item_id: string }[]>(
    'delete from response_context where response_id = ? returning item_id',
    [responseId],
  );
  const runs = response !== null && isDroppedWithPartition(response) ? 'stream_runs_default' : 'stream_runs';
  for (const table of [runs, 'tool_calls', 'turn_attempts', 'turns']) {
    await em.execute(`delete from ${table} where response_id = ?`, [responseId]);
  }
  await em.execute('delete from responses where id = ?', [responseId]);
  // An item is kept as long as any response has it in its context, even after its own response was deleted.
  await em.execute(
    `delete from items i
      where (i.response_id = ? or i.id in (select jsonb_array_elements_text(?::jsonb)))
        and not exists (select from responses r where r.tenant_id = i.tenant_id and r.id = i.response_id)
        and not exists (select from response_context c where c.tenant_id = i.tenant_id and c.item_id = i.id)`,
    [responseId, JSON.stringify(released.map((row) => row.item_id))],
  );
}

/**
 * The stream of a response that was kept for its whole retention is dropped with the partition of the day on which it
 * expired, within 25 hours; until then only the database's owner can read it. The stream of a response that was
 * deleted, or whose retention is less than a day, is deleted at once; so are rows outside the daily partitions.
 */
function isDroppedWithPartition({ deletedAt, createdAt, expiresAt }: Response): boolean {
  return deletedAt === null && expiresAt.getTime() - createdAt.getTime() >= dayMs;
}
