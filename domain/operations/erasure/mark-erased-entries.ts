import type { UnitOfWork } from '#domain/foundation/persistence/unit-of-work.ts';
import type { ErasureStep } from './erasure-step.ts';
import { quoted } from './quoted.ts';

/**
 * Reads what refers to the tenant's one row of a table, without a lock. Its rows were erased, but the indexes still have
 * their entries: this first reader passes all of them and marks them, so that the check of the foreign keys, which has
 * the row locked, does not.
 */
export async function markErasedEntries(
  purge: UnitOfWork,
  tenantId: string,
  { table }: ErasureStep,
): Promise<void> {
  await purge.inTenant(tenantId, async (em) => {
    const referring = await em.execute<{ name: string; column: string }[]>(
      `select c.relname as name, a.attname as "column" from pg_constraint f
       join pg_class c on c.oid = f.conrelid
       join pg_attribute a on a.attrelid = f.conrelid and a.attnum = f.conkey[1]
       where f.contype = 'f' and f.conparentid = 0 and f.confrelid = ?::regclass and cardinality(f.conkey) = 1
         and c.relnamespace = 'public'::regnamespace`,
      [`public.${quoted(table)}`],
    );
    // As the check of a foreign key reads: only an index scan marks entries.
    await em.execute(
      `select set_config(name, 'off', true) from unnest(array['enable_seqscan', 'enable_bitmapscan']) name`,
    );
    for (const { name, column } of referring) {
      await em.execute(`select from ${quoted(name)} where ${quoted(column)} = ?`, [tenantId]);
    }
  });
}
