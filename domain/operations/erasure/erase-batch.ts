import type { EntityManager } from '@mikro-orm/postgresql';
import type { UnitOfWork } from '#domain/foundation/persistence/unit-of-work.ts';
import { firstPlace, readPlace, writePlace, type Place } from './batch-place.ts';
import type { ErasureRoot, ErasureStep } from './erasure-root.ts';
import { isTimeout } from './is-timeout.ts';
import { quoted } from './quoted.ts';
import { emptyPartition } from './empty-partition.ts';

/** Locks are held for about half of `lockMs` and never longer: a batch that would is undone and tried smaller. */
const aimMs = 40;
const lockMs = 90;
const maxRows = 20_000;

export interface ErasedBatch {
  /** Rows that this batch deleted or unlinked. */
  rows: number;
  /** Where the next batch begins; null at the end of the table. */
  cursor: string | null;
}

/**
 * Erases the next rows of a step in one transaction of the purge role, in the order of the primary key. The cursor is
 * that of the batch before, null for the first; a batch that is repeated with the same cursor finds its rows erased.
 */
export async function eraseBatch(
  purge: UnitOfWork,
  root: ErasureRoot,
  step: ErasureStep,
  cursor: string | null,
): Promise<ErasedBatch> {
  if (step.kind === 'truncate') {
    return { rows: await emptyPartition(purge, root.tenantId, step.table), cursor: null };
  }
  for (let place = cursor === null ? firstPlace : readPlace(cursor); ;) {
    const begun = performance.now();
    try {
      const { rows, last } = await purge.inTenant(root.tenantId, (em) => eraseRows(em, root, step, place));
      const factor = Math.min(2, aimMs / Math.max(performance.now() - begun, 1));
      const size = Math.min(maxRows, Math.max(1, Math.floor(place.size * factor)));
      return { rows, cursor: last === null ? null : writePlace({ after: last, size }) };
    } catch (error) {
      if (!isTimeout(error) || place.size === 1) throw error;
      place = { ...place, size: Math.max(1, Math.floor(place.size / 4)) };
    }
  }
}

async function eraseRows(
  em: EntityManager,
  { tenantId }: ErasureRoot,
  step: ErasureStep,
  { after, size }: Place,
): Promise<{ rows: number; last: string[] | null }> {
  const table = quoted(step.table);
  const columns = step.key.map(({ name }) => quoted(name));
  const tuple = `(${columns.join(', ')})`;
  const bound = `(${step.key.map(({ type }) => `cast(? as ${type})`).join(', ')})`;
  const from = after === null ? '' : `and ${tuple} > ${bound}`;
  const last = await readLast();
  const to = last === null ? '' : `and ${tuple} <= ${bound}`;
  // Everything that waits for these rows waits no longer than this.
  if (size > 1) await em.execute(`set local statement_timeout = ${lockMs}`);
  const cleared = step.clears.map((name) => quoted(name));
  const change =
    step.kind === 'unlink'
      ? `update ${table} set ${cleared.map((name) => `${name} = null`).join(', ')}`
      : `delete from ${table}`;
  const linked =
    step.kind === 'unlink'
      ? `and (${cleared.join(', ')}) is distinct from (${cleared.map(() => 'null').join(', ')})`
      : '';
  const [erased] = await em.execute<{ rows: number }[]>(
    `with erased as (${change} where tenant_id = ? ${from} ${to} ${linked} returning 1) select count(*)::int as rows from erased`,
    [tenantId, ...(after ?? []), ...(last ?? [])],
  );
  return { rows: erased?.rows ?? 0, last };

  /** The key of the last row of the batch; null when fewer rows than a batch are left. */
  async function readLast(): Promise<string[] | null> {
    if (columns.length === 0) return null;
    const [row] = await em.execute<{ key: string[] }[]>(
      `select to_jsonb(array[${columns.map((name) => `${name}::text`).join(', ')}]) as key from ${table}
       where tenant_id = ? ${from} order by ${columns.join(', ')} offset ? limit 1`,
      [tenantId, ...(after ?? []), size - 1],
    );
    return row?.key ?? null;
  }
}
