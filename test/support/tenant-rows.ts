import type { Client } from 'pg';

interface Column {
  table: string;
  column: string;
  type: string;
  nullable: boolean;
  defaulted: boolean;
  /** Texts of the check constraints of this column, and whether one spans several columns. */
  checks: string[];
  shared: boolean;
  reference: { table: string; column: string; own: boolean } | null;
  inKey: boolean;
  /** Whether a foreign key to the same table holds the column on both sides. */
  common: boolean;
}

/** The sample's text that stands in every free text column: no other row of the database holds it. */
export const canaryOf = (tenantId: string): string => `canary-${tenantId.replaceAll('-', '').slice(-12)}`;

/**
 * Values of columns that a check constraint asks for, null for such as must be empty beside the others. `$tag` is the
 * row's own text, `$hex` 32 digits of it.
 */
const constrained: Record<string, string | null> = {
  'api_keys.key_id': `substr($hex, 1, 16)`,
  'authorization_attempts.connector_id': null,
  'connectors.client_credential_id': null,
  'connectors.provider_slug': `'rss'`,
  'embedding_models.dims': '8',
  'embedding_models.max_tokens': '16',
  'events.event_type': `'space.' || $tag`,
  'events.id': `('01a213' || substr($hex, 7, 6) || '7' || substr($hex, 14, 3) || '8' || substr($hex, 18))::uuid`,
  'identity_providers.slug': `'s' || substr($hex, 1, 20)`,
  'invites.answered_at': 'now()',
  'invites.status': `'accepted'`,
  'invites.email': '$tag',
  'mcp_connections.connector_id': null,
  'mcp_servers.client_credential_id': null,
  'mcp_servers.slug': `'s' || substr($hex, 1, 20)`,
  'notifications.event_type': `'space.' || $tag`,
  'redactions.response_id': null,
  'reranking_models.max_tokens': '64',
  'roles.key': `'r' || $hex`,
  'skills.slug': `'s' || substr($hex, 1, 20)`,
  'stored_objects.byte_size': '1',
  'stored_objects.sha256': '$hex || $hex',
  'thread_branches.forked_at': 'case when g > 1 then 1 end',
};

/**
 * Gives a tenant rows in every table that has a column `tenant_id`, from the catalogue alone: `count` rows each, each
 * referring to the row of the same number in other tables, with the tenant's canary in each text. Constraints hold by
 * construction; triggers do not run. The tenant's own row exists already. @returns rows per table
 */
export async function fillTenant(
  admin: Client,
  tenantId: string,
  count = 3,
): Promise<Record<string, number>> {
  const columns = await readColumns(admin);
  const byName = new Map(columns.map((column) => [`${column.table}.${column.column}`, column]));
  const tables = [...new Set(columns.map(({ table }) => table))].filter((table) => table !== 'tenants');
  await admin.query('begin');
  await admin.query('set local session_replication_role = replica');
  const failures: string[] = [];
  for (const table of tables) {
    const own = columns.filter((column) => column.table === table);
    const values = own.flatMap((column) => {
      const value = valueOf(column, byName, tenantId);
      return value === null ? [] : [{ name: `"${column.column}"`, value }];
    });
    const keyed = own.some(({ inKey, column }) => inKey && column !== 'tenant_id');
    const names = values.map(({ name }) => name).join(', ');
    const list = values.map(({ value }) => value).join(', ');
    try {
      await admin.query('savepoint before');
      await admin.query(
        `insert into "${table}" (${names}) select ${list} from generate_series(1, ${keyed ? count : 1}) g on conflict do nothing`,
      );
    } catch (error) {
      failures.push(`${table}: ${(error as Error).message}`);
      await admin.query('rollback to savepoint before');
    }
  }
  await admin.query('commit');
  if (failures.length > 0) throw new Error(`No rows could be made of ${failures.join('; ')}`);
  return countTenantRows(admin, tenantId);
}

/** Rows of a tenant per table. */
export async function countTenantRows(admin: Client, tenantId: string): Promise<Record<string, number>> {
  const names = [...new Set((await readColumns(admin)).map(({ table }) => table))];
  const counts = names.map(
    (name) => `select '${name}' as name, count(*)::int as n from "${name}" where tenant_id = '${tenantId}'`,
  );
  const { rows } = await admin.query<{ name: string; n: number }>(counts.join(' union all '));
  return Object.fromEntries(rows.map(({ name, n }) => [name, n]));
}

function valueOf(column: Column, byName: ReadonlyMap<string, Column>, tenantId: string): string | null {
  const place = `${column.table}.${column.column}`;
  if (column.column === 'tenant_id') return `'${tenantId}'::uuid`;
  const tag = `'${canaryOf(tenantId)}-${column.table}-${column.column}-' || g::text`;
  const hex = `md5(${tag})`;
  if (place in constrained) {
    return constrained[place]?.replaceAll('$hex', hex).replaceAll('$tag', tag) ?? null;
  }
  if (column.reference !== null) {
    const { table, column: name, own } = column.reference;
    // Rows that refer to the row before share what both name, such as their thread.
    if (column.common)
      return (
        valueOf({ ...column, common: false }, byName, tenantId)?.replaceAll('g::text', '1::text') ?? null
      );
    const parent = byName.get(`${table}.${name}`);
    if (parent === undefined) return null;
    // Of its own table the row before: the first refers to none.
    const value = valueOf(own ? { ...parent, reference: null } : parent, byName, tenantId);
    return own && value !== null
      ? `case when g > 1 then ${value.replaceAll('g::text', '(g - 1)::text')} end`
      : value;
  }
  const listed = column.checks.map((check) => /ARRAY\['([^']+)'::text/.exec(check)?.[1]).find(Boolean);
  if (column.defaulted && !column.inKey && (column.checks.length > 0 || !isText(column.type))) return null;
  if (column.nullable && (column.shared || (column.checks.length > 0 && listed === undefined))) return null;
  if (listed !== undefined) return `'${listed}'`;
  return valueOfType(column.type, tag, hex);
}

const isText = (type: string) => ['text', 'jsonb', 'bytea', 'text[]'].includes(type);

function valueOfType(type: string, tag: string, hex: string): string | null {
  switch (type) {
    case 'text':
      return tag;
    case 'text[]':
      return `array[${tag}]`;
    case 'jsonb':
      return `jsonb_build_object('canary', ${tag})`;
    case 'bytea':
      return `convert_to(${tag}, 'UTF8')`;
    case 'uuid':
      return `${hex}::uuid`;
    case 'uuid[]':
      return `array[${hex}::uuid]`;
    case 'timestamp with time zone':
      return `now() + g::text::int * interval '1 second'`;
    case 'date':
      return 'current_date';
    case 'boolean':
      return 'false';
    case 'bit varying':
      return `b'1'`;
    case 'regconfig':
      return `'english'::regconfig`;
    case 'regconfig[]':
      return `array['simple'::regconfig]`;
    case 'xid8':
      return 'pg_current_xact_id()';
    case 'integer':
    case 'bigint':
    case 'smallint':
    case 'real':
    case 'double precision':
    case 'numeric':
      return 'g::text::int';
    default:
      throw new Error(`No value for the type ${type}.`);
  }
}

async function readColumns(admin: Client): Promise<Column[]> {
  const { rows } = await admin.query<Column>(
    `select c.relname as table, a.attname as column, format_type(a.atttypid, null) as type,
       not a.attnotnull as nullable, a.atthasdef as defaulted,
       array(select pg_get_constraintdef(k.oid) from pg_constraint k
         where k.conrelid = c.oid and k.contype = 'c' and k.conkey = array[a.attnum]) as checks,
       exists (select from pg_constraint k where k.conrelid = c.oid and k.contype = 'c'
         and a.attnum = any (k.conkey) and cardinality(k.conkey) > 1) as shared,
       exists (select from pg_index i where i.indrelid = c.oid and i.indisprimary and a.attnum = any (i.indkey)) as "inKey",
       exists (select from pg_constraint k, unnest(k.conkey, k.confkey) as p (mine, theirs)
         where k.contype = 'f' and k.conrelid = c.oid and k.confrelid = c.oid and p.mine = a.attnum and p.theirs = a.attnum) as common,
       (select jsonb_build_object('table', f.relname, 'column', fa.attname, 'own', f.oid = c.oid)
         from pg_constraint k cross join lateral unnest(k.conkey, k.confkey) as p (mine, theirs)
         join pg_class f on f.oid = k.confrelid
         join pg_attribute fa on fa.attrelid = f.oid and fa.attnum = p.theirs
         where k.conrelid = c.oid and k.contype = 'f' and p.mine = a.attnum and fa.attname <> 'tenant_id'
         order by f.oid = c.oid, k.conname limit 1) as reference
     from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
     where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
       and a.attgenerated = '' and a.attidentity = ''
       and exists (select from pg_attribute t where t.attrelid = c.oid and t.attname = 'tenant_id')
     order by c.relname, a.attnum`,
  );
  return rows;
}

/** Foreign keys whose rows have no parent, by name: empty if what was filled in is sound. */
export async function danglingKeys(admin: Client): Promise<string[]> {
  const { rows: keys } = await admin.query<{
    name: string;
    child: string;
    parent: string;
    pairs: string;
    given: string;
  }>(
    `select k.conname as name, k.conrelid::regclass::text as child, k.confrelid::regclass::text as parent,
       (select string_agg(format('p.%I = c.%I', fa.attname, a.attname), ' and ') from unnest(k.conkey, k.confkey) as x (mine, theirs)
         join pg_attribute a on a.attrelid = k.conrelid and a.attnum = x.mine
         join pg_attribute fa on fa.attrelid = k.confrelid and fa.attnum = x.theirs) as pairs,
       (select string_agg(format('c.%I is not null', a.attname), ' and ') from unnest(k.conkey) as x (mine)
         join pg_attribute a on a.attrelid = k.conrelid and a.attnum = x.mine) as given
     from pg_constraint k where k.contype = 'f' and k.conparentid = 0 and k.connamespace = 'public'::regnamespace`,
  );
  const dangling: string[] = [];
  for (const { name, child, parent, pairs, given } of keys) {
    const { rows } = await admin.query(
      `select from ${child} c where ${given} and not exists (select from ${parent} p where ${pairs}) limit 1`,
    );
    if (rows.length > 0) dangling.push(`${child}: ${name}`);
  }
  return dangling;
}
