import type { Client } from 'pg';

/** Rows of tables without tenants that mention one of the ids, per table. */
export async function countMentions(client: Client, ids: readonly string[]): Promise<Record<string, number>> {
  const { rows: tables } = await client.query<{ name: string }>(
    `select format('%I.%I', n.nspname, c.relname) as name
     from pg_class c join pg_namespace n on n.oid = c.relnamespace
     where c.relkind in ('r', 'p', 'm', 'f') and not c.relispartition
       and not exists (select from pg_attribute a where a.attrelid = c.oid and a.attname = 'tenant_id')
       and n.nspname <> 'information_schema' and n.nspname !~ '^pg_' order by 1`,
  );
  const counts: Record<string, number> = {};
  for (const { name } of tables) {
    const { rows } = await client.query<{ n: string }>(
      `select count(*) as n from ${name} t where exists (
         select from unnest($1::text[]) i where position(i in t::text) > 0)`,
      [ids],
    );
    counts[name] = Number(rows[0]?.n);
  }
  return counts;
}
