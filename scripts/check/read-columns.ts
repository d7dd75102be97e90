import type { Client } from 'pg';

export interface Column {
  table: string;
  name: string;
  /** As PostgreSQL prints it: `integer`, `timestamp with time zone`, `text[]`. */
  type: string;
  nullable: boolean;
}

const QUERY = `
  select c.relname as "table", a.attname as name, format_type(a.atttypid, a.atttypmod) as type,
         not a.attnotnull as nullable
  from pg_attribute a
  join pg_class c on c.oid = a.attrelid
  where (c.relnamespace = 'public'::regnamespace or c.oid = to_regclass('app.tenant_deletions')) and c.relkind in ('r', 'p') and not c.relispartition
    and a.attnum > 0 and not a.attisdropped
  order by c.relname, a.attnum`;

/** Every column of every table; a partition has those of its parent and is left out. */
export async function readColumns(client: Client): Promise<Column[]> {
  return (await client.query<Column>(QUERY)).rows;
}
