import type { EntityManager } from '@mikro-orm/postgresql';
import { nilUuid } from '#domain/foundation/kernel/ids.ts';
import type { UnitOfWork } from '#domain/foundation/persistence/unit-of-work.ts';
import { maxLockMs } from '#domain/operations/erasure/erasure-database.ts';
import { isTimeout } from '#domain/operations/erasure/sql-states.ts';
import { lookUpRows } from './look-up-rows.ts';

export interface PrincipalRef {
  tenantId: string;
  principalId: string;
}

/** Ids that are read at once, and rows that are locked at once. */
const maxIds = 10_000;
const batchSize = 50;

type Change = (em: EntityManager, principal: PrincipalRef, ids: readonly string[]) => Promise<void>;

/**
 * Puts what is a person's alone out of sight: threads that it began and in which nobody else wrote or asked for an
 * answer, and its responses, but for those in threads that stay. Service accounts and agents stand for no person: what
 * they said belongs to the space.
 * @param purge as the purge role
 */
export async function hideOwn(purge: UnitOfWork, principal: PrincipalRef): Promise<void> {
  const { tenantId, principalId } = principal;
  const owner = [tenantId, principalId];
  const isPerson = await purge.inTenant(tenantId, (em) =>
    em.execute(`select from principals where tenant_id = ? and id = ? and type = 'user'`, owner),
  );
  if (isPerson.length === 0) return;
  for (const [list, first, change] of [
    [threads, nilUuid, hideThreads],
    [responses, '', hideResponses],
  ] as const) {
    for (let after: string = first; ;) {
      const rows = await purge.inTenant(tenantId, (em) =>
        em.execute<{ id: string }[]>(list, [...owner, after]),
      );
      const ids = rows.map(({ id }) => id);
      await inBatches(ids, (some, limitMs) =>
        purge.inTenant(tenantId, async (em) => {
          await lookUpRows(em, limitMs);
          await change(em, principal, some);
        }),
      );
      after = ids.at(-1) ?? after;
      if (ids.length < maxIds) break;
    }
  }
}

const threads = `select id::text from threads
  where tenant_id = ? and created_by = ? and status <> 'deleted' and id > ?::uuid
  order by id limit ${maxIds}`;

const responses = `select id from responses
  where tenant_id = ? and principal_id = ? and deleted_at is null and id > ? order by id limit ${maxIds}`;

/** Ids to look up; made before the join, as in scope-rows.ts. */
const chosen = (type: 'uuid' | 'text') =>
  `(select cast(e as ${type}) as id from jsonb_array_elements_text(?::jsonb) e offset 0) chosen`;

/** A thread is locked before it is looked at: nobody else begins to write in it, and who just did is seen. */
const hideThreads: Change = async (em, { tenantId }, ids) => {
  const values = [JSON.stringify(ids), tenantId];
  await em.execute(
    `select t.id from ${chosen('uuid')} join threads t on t.tenant_id = ? and t.id = chosen.id order by t.id for update of t`,
    values,
  );
  await em.execute(
    `update threads t set status = 'deleted', updated_at = now() from ${chosen('uuid')}
     where t.tenant_id = ? and t.id = chosen.id
       and not exists (select from messages m
         where m.tenant_id = t.tenant_id and m.thread_id = t.id and m.created_by <> t.created_by)
       and not exists (select from responses r
         where r.tenant_id = t.tenant_id and r.thread_id = t.id and r.principal_id <> t.created_by)`,
    values,
  );
};

const hideResponses: Change = async (em, { tenantId }, ids) => {
  await em.execute(
    `with own as (
       update responses r set deleted_at = now() from ${chosen('text')}
       where r.tenant_id = ? and r.id = chosen.id and not exists (select from threads t
         where t.tenant_id = r.tenant_id and t.id = r.thread_id and t.status <> 'deleted')
       returning r.tenant_id, r.id)
     update response_ids i set deleted_at = now() from own where i.tenant_id = own.tenant_id and i.id = own.id`,
    [JSON.stringify(ids), tenantId],
  );
};

/** Batches with the time limit of an erasure; the rows of a longer batch go alone. */
async function inBatches(
  ids: readonly string[],
  work: (ids: readonly string[], limitMs: number | null) => Promise<void>,
): Promise<void> {
  for (let done = 0; done < ids.length; done += batchSize) {
    const some = ids.slice(done, done + batchSize);
    try {
      await work(some, maxLockMs);
    } catch (error) {
      if (!isTimeout(error)) throw error;
      for (const id of some) await work([id], null);
    }
  }
}
