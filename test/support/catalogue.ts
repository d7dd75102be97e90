import type { Client } from 'pg';

/** The catalogue's description of each object of the schemas `public` and `app`, under a sortable name. */
const queries: Record<string, string> = {
  relation: `select format('%s.%s kind=%s owner=%s rls=%s/%s persistence=%s options=%s partition=%s acl=%s', n.nspname, c.relname,
      c.relkind, c.relowner::regrole, c.relrowsecurity, c.relforcerowsecurity, c.relpersistence, c.reloptions,
      pg_get_expr(c.relpartbound, c.oid),
      array(select a::text from unnest(coalesce(c.relacl, acldefault('r', c.relowner))) a order by 1))
    from pg_class c join pg_namespace n on n.oid = c.relnamespace where n.nspname in ('public', 'app')`,
  column: `select format('%s.%s %s type=%s notnull=%s default=%s generated=%s identity=%s acl=%s', a.attrelid::regclass, a.attname,
      a.attnum, format_type(a.atttypid, a.atttypmod), a.attnotnull, pg_get_expr(d.adbin, d.adrelid), a.attgenerated,
      a.attidentity, array(select x::text from unnest(a.attacl) x order by 1))
    from pg_attribute a join pg_class c on c.oid = a.attrelid left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
    where c.relnamespace in ('public'::regnamespace, 'app'::regnamespace) and a.attnum > 0 and c.relkind in ('r', 'p')`,
  policy: `select format('%s.%s %s permissive=%s cmd=%s roles=%s using=%s check=%s', schemaname, tablename, policyname, permissive,
      cmd, roles, qual, with_check) from pg_policies`,
  index: `select format('%s', indexdef) from pg_indexes where schemaname in ('public', 'app')`,
  constraint: `select format('%s %s %s', conrelid::regclass, conname, pg_get_constraintdef(oid)) from pg_constraint
    where connamespace in ('public'::regnamespace, 'app'::regnamespace)`,
  trigger: `select format('%s %s', tgrelid::regclass, case when tgisinternal then 'internal ' || tgfoid::regproc
      else pg_get_triggerdef(oid) end) from pg_trigger`,
  function: `select format('%s returns=%s language=%s kind=%s owner=%s definer=%s volatile=%s parallel=%s strict=%s config=%s acl=%s source=%s',
      p.oid::regprocedure, pg_get_function_result(p.oid), p.prolang, p.prokind, p.proowner::regrole, p.prosecdef,
      p.provolatile, p.proparallel, p.proisstrict, p.proconfig,
      array(select a::text from unnest(coalesce(p.proacl, acldefault('f', p.proowner))) a order by 1),
      md5(p.prosrc) || pg_get_function_arguments(p.oid))
    from pg_proc p where p.pronamespace in ('public'::regnamespace, 'app'::regnamespace)`,
  schema: `select format('%s owner=%s acl=%s', nspname, nspowner::regrole,
      array(select a::text from unnest(nspacl) a order by 1)) from pg_namespace where nspname in ('public', 'app')`,
};

/** One line for each relation, column, policy, index, constraint, trigger, function and schema of the platform. */
export async function readCatalogue(client: Client): Promise<string[]> {
  const lines: string[] = [];
  for (const [kind, sql] of Object.entries(queries)) {
    const { rows } = await client.query<[string]>({ text: sql, rowMode: 'array' });
    lines.push(...rows.map(([line]) => `${kind} ${line}`));
  }
  return lines.toSorted();
}
