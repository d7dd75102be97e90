import type { Client } from 'pg';

/** Unique across tenants on purpose: the name in a login address, and the id by which a key is looked up. */
const globallyUnique = ['tenants_slug_key', 'api_keys_key_id_key', 'tenants_platform'];
/** Not of any tenant. */
const ownBookkeeping = ['mikro_orm_migrations'];

const tables = `
  select c.oid, c.relname as name, c.relrowsecurity and c.relforcerowsecurity as secured, c.relispartition as part,
         pg_get_userbyid(c.relowner) as owner,
         exists (select from pg_attribute a where a.attrelid = c.oid and a.attname = 'tenant_id' and a.attnotnull) as tenant,
         (select i.indkey[0] = a.attnum from pg_index i join pg_attribute a on a.attrelid = c.oid and a.attname = 'tenant_id'
            where i.indrelid = c.oid and i.indisprimary) as key_leads
  from pg_class c where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') order by 2`;

const uniques = `
  select i.indexrelid::regclass::text as name from pg_index i join pg_class c on c.oid = i.indrelid
  where c.relnamespace = 'public'::regnamespace and i.indisunique and not c.relispartition
    and (select a.attname from pg_attribute a where a.attrelid = c.oid and a.attnum = i.indkey[0]) is distinct from 'tenant_id'
    and c.relname <> all ($1)`;

const foreignKeys = `
  select k.conname as name,
    (select a.attname from pg_attribute a where a.attrelid = k.conrelid and a.attnum = k.conkey[1]) = 'tenant_id'
      and (select a.attname from pg_attribute a where a.attrelid = k.confrelid and a.attnum = k.confkey[1]) = 'tenant_id' as leads,
    exists (select from pg_index i where i.indrelid = k.conrelid
      -- Rows that refer to nothing need not be in it.
      and (i.indpred is null or pg_get_expr(i.indpred, i.indrelid) ~ '^\\(\\w+ IS NOT NULL\\)$')
      and (select array_agg(x order by x) from unnest((i.indkey::int2[])[0:cardinality(k.conkey) - 1]) x)
        = (select array_agg(x order by x) from unnest(k.conkey) x)) as indexed
  from pg_constraint k where k.contype = 'f' and k.connamespace = 'public'::regnamespace and k.conparentid = 0`;

const policies = `
  select p.polrelid as oid, p.polname as name, p.polroles = array['app_rt'::regrole::oid] as runtime,
    p.polroles = array['app_purge'::regrole::oid] as purge, p.polcmd = '*' as every,
    pg_get_expr(p.polqual, p.polrelid) as using, pg_get_expr(p.polwithcheck, p.polrelid) as checked
  from pg_policy p`;

const ownTenant = `(tenant_id = (NULLIF(current_setting('app.tenant_id'::text, true), ''::text))::uuid)`;

interface Table {
  oid: number;
  name: string;
  secured: boolean;
  part: boolean;
  owner: string;
  tenant: boolean;
  key_leads: boolean | null;
}

interface Policy {
  oid: number;
  name: string;
  runtime: boolean;
  purge: boolean;
  every: boolean;
  using: string | null;
  checked: string | null;
}

/**
 * Places where a table lets one tenant's rows be reached, or joined, from another's; empty when tenant
 * isolation is complete.
 */
export async function findIsolationBreaches(admin: Client): Promise<string[]> {
  const all = await admin.query<Table>(tables);
  const found = await admin.query<Policy>(policies);
  const open = await admin.query<{ name: string }>(uniques, [ownBookkeeping]);
  const links = await admin.query<{ name: string; leads: boolean; indexed: boolean }>(foreignKeys);
  return [
    ...all.rows
      .filter(({ name }) => !ownBookkeeping.includes(name))
      .flatMap((table) =>
        breachesOf(
          table,
          found.rows.filter(({ oid }) => oid === table.oid),
        ),
      ),
    ...open.rows
      .filter(({ name }) => !globallyUnique.includes(name))
      .map(({ name }) => `${name}: unique across tenants`),
    ...links.rows.filter(({ leads }) => !leads).map(({ name }) => `${name}: does not lead with tenant_id`),
    ...links.rows.filter(({ indexed }) => !indexed).map(({ name }) => `${name}: no index`),
  ];
}

function breachesOf(table: Table, own: Policy[]): string[] {
  const breaches = [
    ...(table.tenant ? [] : ['tenant_id is missing or nullable']),
    ...(table.secured ? [] : ['row-level security is not forced']),
    ...(table.owner === 'app_owner' ? [] : [`owned by ${table.owner}`]),
    ...(table.key_leads === true ? [] : ['the primary key does not lead with tenant_id']),
    // A partition is reached through its parent, whose policies apply; without policies of its own it shows
    // nothing.
    ...(table.part ? [] : policyBreaches(own)),
  ];
  return breaches.map((breach) => `${table.name}: ${breach}`);
}

function policyBreaches(own: Policy[]): string[] {
  return (['runtime', 'purge'] as const).flatMap((role) => {
    const [policy, ...more] = own.filter((each) => each[role]);
    if (policy === undefined || more.length > 0 || !policy.every) {
      return [`not exactly one ${role} policy for every command`];
    }
    const mine = policy.using?.includes(ownTenant) === true && !/\bor\b/i.test(withoutGrace(policy.using));
    return mine && policy.checked === ownTenant ? [] : [`the ${role} policy lets other tenants pass`];
  });
}

/**
 * The permitted alternatives: a transaction still sees the response that it has just deleted or ended, and an
 * unfinished response stays visible past its expiry, with its events.
 */
function withoutGrace(using: string): string {
  return using
    .replaceAll(/\s+/g, ' ')
    .replace(
      '((expires_at > now()) OR (EXISTS ( SELECT FROM responses r WHERE ((r.tenant_id = stream_runs.tenant_id) AND (r.id = stream_runs.response_id)))))',
      '',
    )
    .replace('((deleted_at IS NULL) OR (deleted_at >= now()))', '')
    .replace(
      `((expires_at > now()) OR (finished_at IS NULL) OR (finished_at >= date_trunc('milliseconds'::text, now())))`,
      '',
    );
}
