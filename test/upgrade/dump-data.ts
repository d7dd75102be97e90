import type { Client } from 'pg';

/** Tables that `migrate` fills itself. */
const left = new Set(['app.function_files']);

interface Table {
  name: string;
  columns: string[];
}

/**
 * The rows of every table as plain SQL, one a line, with their partitions. Restored with `session_replication_role =
 * replica`, which disables triggers and foreign key checks.
 */
export async function dumpData(admin: Client): Promise<string> {
  const lines = await dumpPartitions(admin);
  for (const { name, columns } of await listTables(admin)) {
    const values = columns.map((column) => `${column}::text`).join(', ');
    const { rows } = await admin.query<(string | null)[]>({
      text: `select ${values} from ${name} order by ${columns.slice(0, 4).join(', ')}`,
      rowMode: 'array',
    });
    const literal = (value: string | null) => (value === null ? 'null' : admin.escapeLiteral(value));
    const tuples = rows.map((row) => `(${row.map(literal).join(',')})`);
    if (rows.length > 0)
      lines.push(`insert into ${name} (${columns.join(', ')}) values`, `${tuples.join(',\n')};`);
  }
  return `${lines.join('\n')}\n`;
}

async function dumpPartitions(admin: Client): Promise<string[]> {
  const { rows } = await admin.query<{ line: string }>(
    `select format('select app.add_event_month(%L);', m) as line from app.event_months() m
     union all select format('select app.add_stream_day(%L);', d) from app.stream_days() d order by 1`,
  );
  return rows.map(({ line }) => line);
}

async function listTables(admin: Client): Promise<Table[]> {
  const { rows } = await admin.query<Table>(
    `select format('%I.%I', n.nspname, c.relname) as name,
       array_agg(quote_ident(a.attname) order by a.attnum) as columns
     from pg_class c join pg_namespace n on n.oid = c.relnamespace join pg_attribute a on a.attrelid = c.oid
     where n.nspname in ('public', 'app') and c.relkind in ('r', 'p') and not c.relispartition
       and a.attnum > 0 and not a.attisdropped and a.attgenerated = ''
     group by 1 order by 1`,
  );
  return rows.filter(({ name }) => !left.has(name));
}
