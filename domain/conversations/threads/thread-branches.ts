import type { EntityManager } from '@mikro-orm/postgresql';
import { DomainError, notFound } from '#domain/foundation/kernel/errors.ts';
import { newId } from '#domain/foundation/kernel/ids.ts';
import type { Thread } from './thread.entity.ts';

/** Position of a new message: its branch, and its parent message there. */
export interface BranchPlace {
  branchId: string;
  parentMessageId: string | null;
}

type ThreadKey = Pick<Thread, 'tenantId' | 'id'>;

/**
 * Creates the first branch of a new thread. The caller may choose the id, which has no meaning outside the thread.
 */
export async function openThreadBranch(
  em: EntityManager,
  thread: ThreadKey,
  branchId: string | null,
): Promise<BranchPlace> {
  const id = branchId ?? newId();
  await em.execute('insert into thread_branches (tenant_id, thread_id, id) values (?, ?, ?)', [
    thread.tenantId,
    thread.id,
    id,
  ]);
  return { branchId: id, parentMessageId: null };
}

/**
 * Resolves the position of the next message of a thread: after the last one of the branch, or of the first branch
 * when none is named. A parent that is not the last of its branch starts a new branch there. The thread must be
 * locked.
 * @throws `branch_not_found`, `message_not_found`; `invalid_state` when the named branch has continued past the
 *   parent
 */
export async function findPlace(
  em: EntityManager,
  thread: ThreadKey,
  named: { branchId: string | null; parentMessageId: string | null },
): Promise<BranchPlace> {
  if (named.parentMessageId === null) {
    const branchId = await requireBranch(em, thread, named.branchId);
    return { branchId, parentMessageId: await lastOf(em, thread, branchId) };
  }
  const [parent] = await em.execute<{ branch_id: string; position: number }[]>(
    'select branch_id, position from messages where thread_id = ? and id = ?',
    [thread.id, named.parentMessageId],
  );
  if (parent === undefined) {
    throw notFound('message_not_found');
  }
  if (named.branchId !== null) {
    const branchId = await requireBranch(em, thread, named.branchId);
    if ((await lastOf(em, thread, branchId)) !== named.parentMessageId) {
      throw new DomainError('invalid_state', 'The branch has gone on behind this message.', {
        param: 'parent_message_id',
      });
    }
    return { branchId, parentMessageId: named.parentMessageId };
  }
  if ((await lastOf(em, thread, parent.branch_id)) === named.parentMessageId) {
    return { branchId: parent.branch_id, parentMessageId: named.parentMessageId };
  }
  const branchId = newId();
  await em.execute(
    `insert into thread_branches (tenant_id, thread_id, id, parent_branch_id, forked_at) values (?, ?, ?, ?, ?)`,
    [thread.tenantId, thread.id, branchId, parent.branch_id, parent.position],
  );
  return { branchId, parentMessageId: named.parentMessageId };
}

/** A branch of the thread; the first one when none is named. @throws `branch_not_found` */
export async function requireBranch(
  em: EntityManager,
  thread: ThreadKey,
  branchId: string | null,
): Promise<string> {
  const [branch] = await em.execute<{ id: string }[]>(
    `select id from thread_branches
     where thread_id = ? and case when ?::uuid is null then parent_branch_id is null else id = ?::uuid end`,
    [thread.id, branchId, branchId],
  );
  if (branch === undefined) {
    throw notFound('branch_not_found');
  }
  return branch.id;
}

/** The last message of a branch; of a branch without messages, the message where it was forked. */
export async function lastOf(em: EntityManager, thread: ThreadKey, branchId: string): Promise<string | null> {
  const [row] = await em.execute<{ id: string }[]>(
    'select id from messages where thread_id = ? and branch_id = ? order by position desc limit 1',
    [thread.id, branchId],
  );
  if (row !== undefined) {
    return row.id;
  }
  const [fork] = await em.execute<{ id: string }[]>(
    `select m.id from thread_branches b
       join messages m on m.tenant_id = b.tenant_id and m.thread_id = b.thread_id and m.position = b.forked_at
     where b.thread_id = ? and b.id = ?`,
    [thread.id, branchId],
  );
  return fork?.id ?? null;
}

/**
 * Query for joins: the branches of a line, each with its last position in the line. Takes the ids of the thread and
 * the branch, neither of which discloses anything outside the tenant.
 */
export const lineOf = `with recursive line as (
    select b.tenant_id, b.thread_id, b.id, b.parent_branch_id, b.forked_at, 2147483647 as upto
      from thread_branches b where b.thread_id = ? and b.id = ?
    union all
    select p.tenant_id, p.thread_id, p.id, p.parent_branch_id, p.forked_at, least(l.forked_at, l.upto)
      from line l join thread_branches p
        on p.tenant_id = l.tenant_id and p.thread_id = l.thread_id and p.id = l.parent_branch_id)`;
