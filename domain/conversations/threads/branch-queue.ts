import type { EntityManager } from '@mikro-orm/postgresql';
import type { Context } from '#domain/foundation/access/context.ts';

/** A branch runs one response at a time; each of the others waits for the one before it. */
export interface BranchOf {
  threadId: string;
  branchId: string;
}

/**
 * Serialises the transactions that read a branch's queue and join it. Lock order: the branch, the rows of responses,
 * the thread's row; a transaction that ends a response takes only the latter two.
 */
export async function holdBranch({ caller, em }: Context, { threadId, branchId }: BranchOf): Promise<void> {
  await em.execute('select pg_advisory_xact_lock(hashtextextended(?, 0))', [
    `branch/${caller.tenantId}/${threadId}/${branchId}`,
  ]);
}

/**
 * The unfinished responses of a branch, or of all branches of a thread, each after the response that blocks it,
 * locked in this order: ending a response locks its own row and then the responses that it blocks. The branch must be
 * locked, or the thread be deleted, so that no response can join.
 */
export async function lockQueue(
  em: EntityManager,
  { threadId, branchId }: { threadId: string; branchId: string | null },
): Promise<string[]> {
  const rows = await em.execute<{ id: string }[]>(
    `with recursive unfinished as (
       select id, waits_for from responses
         where thread_id = ? and branch_id = coalesce(?::uuid, branch_id) and finished_at is null),
     queue as (
       select id, 0 as place from unfinished
         where waits_for is null or waits_for not in (select id from unfinished)
       union all
       select u.id, q.place + 1 from queue q join unfinished u on u.waits_for = q.id)
     select r.id from responses r join queue q on q.id = r.id order by q.place, r.id for update of r`,
    [threadId, branchId],
  );
  return rows.map(({ id }) => id);
}
