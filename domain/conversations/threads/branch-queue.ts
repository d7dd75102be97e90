import type { EntityManager } from '@mikro-orm/postgresql';
import type { Context } from '#domain/foundation/access/context.ts';

/** Where one response runs at a time; the others wait, each for the one before it. */
export interface BranchOf {
  threadId: string;
  branchId: string;
}

/**
 * Lets one at a time look at what runs in a branch and join it, until the end of its transaction. It is taken before
 * the rows of responses, and those before their thread's: whoever ends a response takes only the latter two.
 */
export async function holdBranch({ caller, em }: Context, { threadId, branchId }: BranchOf): Promise<void> {
  await em.execute('select pg_advisory_xact_lock(hashtextextended(?, 0))', [
    `branch/${caller.tenantId}/${threadId}/${branchId}`,
  ]);
}

/**
 * The responses of a branch, or of all branches of a thread, that had not ended, each behind the one that it waits for,
 * locked in this order: as an end takes its own row and then those that wait for it. The branch must be held, or the
 * thread be deleted, so that none can join them.
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
