import { Client } from 'pg';

/** Rows of every table, by name: what must not change, or must change in one place only. */
export async function countRows(admin: Client): Promise<Record<string, number>> {
  const { rows: tables } = await admin.query<{ name: string }>(
    `select c.relname as name from pg_class c
     where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition order by 1`,
  );
  const counts = tables.map(({ name }) => `select '${name}' as name, count(*)::int as n from "${name}"`);
  const { rows } = await admin.query<{ name: string; n: number }>(counts.join(' union all '));
  return Object.fromEntries(rows.map(({ name, n }) => [name, n]));
}

export async function connect(url: string): Promise<Client> {
  const client = new Client({ connectionString: url });
  await client.connect();
  return client;
}
