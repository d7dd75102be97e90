import type { EntityManager } from '@mikro-orm/postgresql';
import type { KeyColumn } from './erasure-step.ts';

/** A table with a column `tenant_id`; partitions belong to their table. */
export interface TenantTable {
  name: string;
  /** Of the primary key, without `tenant_id`. A table without a primary key is ordered by `ctid`. */
  key: readonly KeyColumn[];
  /** Leaf partitions. */
  partitions: readonly string[];
}

/** `child` refers to `parent`; both are tables with a column `tenant_id`. */
export interface ForeignKey {
  child: string;
  parent: string;
  /** Its columns of the child that may be null. */
  nullable: readonly string[];
  /** Pairs of a column of the child and the column of the parent that it names. */
  pairs: readonly (readonly [string, string])[];
  /** What the deletion of a parent does to its children: nothing but a check, or their change in the same statement. */
  onDelete: 'refuse' | 'cascade' | 'set null';
}

export interface Catalogue {
  tables: readonly TenantTable[];
  foreignKeys: readonly ForeignKey[];
}

const tablesOfTenants = `
  select c.oid from pg_class c
  where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
    and exists (select from pg_attribute a where a.attrelid = c.oid and a.attname = 'tenant_id' and not a.attisdropped)`;

/** Reads tables and foreign keys of tenants from PostgreSQL, so that a new table is erased without a change here. */
export async function readCatalogue(em: EntityManager): Promise<Catalogue> {
  const tables = await em.execute<TenantTable[]>(
    `select c.relname as name,
       case when i.indexrelid is null then '[{"name": "ctid", "type": "tid"}]' else (
         select coalesce(jsonb_agg(jsonb_build_object('name', a.attname, 'type', format_type(a.atttypid, null)) order by k.place), '[]')
         from unnest(i.indkey) with ordinality k (attnum, place)
         join pg_attribute a on a.attrelid = c.oid and a.attnum = k.attnum where a.attname <> 'tenant_id') end as key,
       (select coalesce(jsonb_agg(p.relid::regclass::text order by p.relid::regclass::text), '[]')
         from pg_partition_tree(c.oid) p where c.relkind = 'p' and p.isleaf) as partitions
     from pg_class c left join pg_index i on i.indrelid = c.oid and i.indisprimary
     where c.oid in (${tablesOfTenants}) order by c.relname`,
  );
  const foreignKeys = await em.execute<ForeignKey[]>(
    `select child.relname as child, parent.relname as parent,
       (select coalesce(jsonb_agg(a.attname order by a.attnum), '[]') from pg_attribute a
         where a.attrelid = f.conrelid and a.attnum = any (f.conkey) and not a.attnotnull) as nullable,
       (select jsonb_agg(jsonb_build_array(a.attname, p.attname) order by k.place)
         from unnest(f.conkey, f.confkey) with ordinality k (mine, theirs, place)
         join pg_attribute a on a.attrelid = f.conrelid and a.attnum = k.mine
         join pg_attribute p on p.attrelid = f.confrelid and p.attnum = k.theirs) as pairs,
       case f.confdeltype when 'c' then 'cascade' when 'n' then 'set null' else 'refuse' end as "onDelete"
     from pg_constraint f join pg_class child on child.oid = f.conrelid join pg_class parent on parent.oid = f.confrelid
     where f.contype = 'f' and f.conparentid = 0
       and f.conrelid in (${tablesOfTenants}) and f.confrelid in (${tablesOfTenants})
     order by 1, 2, f.conname`,
  );
  return { tables, foreignKeys };
}
