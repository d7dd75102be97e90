import type { Client } from 'pg';
import type { ErasureStep } from '#domain/operations/erasure/erasure-step.ts';

const batchRows = 1_000;

/**
 * What erasing the rows of one step costs at least: plain SQL in batches of a fixed size, each its own transaction, that
 * can be resumed because a batch deletes what is there. @param client logged in as the purge role, of the tenant
 */
export async function deletePlainly(client: Client, tenantId: string, step: ErasureStep): Promise<number> {
  if (step.kind === 'truncate') return 0;
  const columns = step.key.map(({ name }) => `"${name}"`).join(', ');
  const where =
    columns === ''
      ? 'tenant_id = $1'
      : `tenant_id = $1 and (${columns}) in (select ${columns} from "${step.table}" where tenant_id = $1 limit ${batchRows})`;
  const cleared = step.clears.map((name) => `"${name}" = null`).join(', ');
  if (step.kind === 'unlink') {
    await client.query(`update "${step.table}" set ${cleared} where tenant_id = $1`, [tenantId]);
    return 0;
  }
  for (let total = 0; ;) {
    const { rowCount } = await client.query(`delete from "${step.table}" where ${where}`, [tenantId]);
    total += rowCount ?? 0;
    if ((rowCount ?? 0) < batchRows) return total;
  }
}
