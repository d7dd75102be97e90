import type { Client } from 'pg';

/**
 * Rows that mention the tenant or one of the ids and are not the tenant's, per table: of tables that know no tenants,
 * and of the outbox, whose messages the platform sends for all.
 */
export async function countMentions(
  client: Client,
  tenantId: string,
  sampleIds: readonly string[],
): Promise<Record<string, number>> {
  const ids = [tenantId, ...sampleIds];
  const { rows: tables } = await client.query<{ name: string }>(
    `select format('%I.%I', n.nspname, c.relname) as name
     from pg_class c join pg_namespace n on n.oid = c.relnamespace
     where c.relkind in ('r', 'p', 'm', 'f') and not c.relispartition
       and not exists (select from pg_attribute a where a.attrelid = c.oid and a.attname = 'tenant_id')
       and n.nspname in ('public', 'app') order by 1`,
  );
  const counts = new Map<string, number>();
  for (const { name } of tables) {
    const { rows } = await client.query<{ n: string }>(
      `select count(*) as n from ${name} t where exists (
         select from unnest($1::text[]) i where position(i in t::text) > 0)`,
      [ids],
    );
    counts.set(name, Number(rows[0]?.n));
  }
  const { rows } = await client.query<{ n: string }>('select app.count_outbox_mentions($1, $2) as n', [
    tenantId,
    ids,
  ]);
  counts.set('public.outbox', Number(rows[0]?.n));
  return Object.fromEntries(counts);
}
