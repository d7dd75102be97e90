import type { Client } from 'pg';
import { VerifierFailure } from './verifier-failure.ts';

/** What is kept of an erased tenant, on purpose: ids, times, counts and hashes. */
const kept = new Set(['app.tenant_tombstones', 'app.tenant_deletions']);

interface CountedTable {
  name: string;
  readable: boolean;
  secured: boolean;
  shown: boolean;
}

/** Rows of one tenant, per table of the platform that has a column `tenant_id`. Other schemas are not its own. */
export async function countRows(client: Client, tenantId: string): Promise<Record<string, number>> {
  const { rows: tables } = await client.query<CountedTable>(
    `select format('%I.%I', n.nspname, c.relname) as name,
       has_column_privilege(c.oid, 'tenant_id', 'select') as readable, c.relrowsecurity as secured,
       exists (select from pg_policy p where p.polrelid = c.oid and p.polpermissive and p.polcmd = 'r'
         and p.polroles = array[(select oid from pg_roles where rolname = current_user)]
         and pg_get_expr(p.polqual, p.polrelid) = 'true') as shown
     from pg_class c join pg_namespace n on n.oid = c.relnamespace join pg_attribute a on a.attrelid = c.oid
     where c.relkind in ('r', 'p', 'm', 'f') and not c.relispartition and a.attname = 'tenant_id' and not a.attisdropped
       and n.nspname in ('public', 'app') order by 1`,
  );
  const counts = new Map<string, number>();
  for (const { name, readable, secured, shown } of tables.filter((table) => !kept.has(table.name))) {
    if (!readable || (secured && !shown)) {
      throw new VerifierFailure(
        'verifier_blind',
        `The verifier cannot see the rows of ${name}: run the migrations, which let it.`,
      );
    }
    const { rows } = await client.query<{ n: string }>(
      `select count(*) as n from ${name} where tenant_id = $1`,
      [tenantId],
    );
    counts.set(name, Number(rows[0]?.n));
  }
  return Object.fromEntries(counts);
}
