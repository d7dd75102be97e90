import type { UnitOfWork } from '#domain/foundation/persistence/unit-of-work.ts';
import { withStatementTimeout } from '#domain/foundation/persistence/statement-timeout.ts';
import type { ErasureRoot, ErasureStep } from './erasure-root.ts';
import { quoted } from './quoted.ts';

const timeoutMs = 600_000;

/** Rows of each table of the plan, for progress. What proves the erasure counts for itself. */
export async function countRemaining(
  purge: UnitOfWork,
  { tenantId }: ErasureRoot,
  plan: readonly ErasureStep[],
): Promise<Record<string, number>> {
  const counts: [table: string, rows: number][] = [];
  for (const { table } of plan.filter(({ kind }) => kind === 'delete')) {
    const rows = await purge.inTenant(tenantId, (em) =>
      withStatementTimeout(em, timeoutMs, () =>
        em.execute<{ n: string }[]>(`select count(*) as n from ${quoted(table)} where tenant_id = ?`, [
          tenantId,
        ]),
      ),
    );
    counts.push([table, Number(rows[0]?.n ?? 0)]);
  }
  return Object.fromEntries(counts);
}
