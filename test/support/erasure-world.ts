import { readFileSync } from 'node:fs';
import type { MikroORM } from '@mikro-orm/postgresql';
import type { Client } from 'pg';
import { UnitOfWork } from '#domain/foundation/persistence/unit-of-work.ts';
import { eraseBatch, type ErasureRoles } from '#domain/operations/erasure/erase-batch.ts';
import { erasureDatabase } from '#domain/operations/erasure/erasure-database.ts';
import type { ErasureStep } from '#domain/operations/erasure/erasure-step.ts';
import { planErasure } from '#domain/operations/erasure/plan-erasure.ts';
import { verifyErasure, type Verification } from '#domain/operations/erasure-proof/verify-erasure.ts';
import { createOrm } from '#domain/operations/schema/orm.ts';
import { createTestDatabase, type TestDatabase } from './database.ts';
import type { ProvidedPostgres } from './provided.ts';
import { connect } from './tables.ts';

const schemaFile = (name: string) =>
  readFileSync(new URL(`../../domain/operations/schema/${name}`, import.meta.url), 'utf8');

/** A database in which tenants are filled and erased. */
export interface ErasureWorld {
  database: TestDatabase;
  admin: Client;
  /** As the purge role. */
  purge: UnitOfWork;
  roles: ErasureRoles;
  plan(): Promise<ErasureStep[]>;
  /** Erases a tenant from the first step to the last. */
  erase(tenantId: string): Promise<void>;
  /** One of the steps. @returns the rows of each batch */
  eraseStep(step: ErasureStep, tenantId: string): Promise<number[]>;
  verify(tenantId: string, sampleIds?: string[]): Promise<Verification>;
  stop(): Promise<void>;
}

/** @param server the run's, unless another is given */
export async function openErasureWorld(server?: ProvidedPostgres): Promise<ErasureWorld> {
  const database = await createTestDatabase(server);
  const orm: MikroORM = createOrm({ url: database.purgeUrl, statementTimeoutMs: 10_000 });
  const purge = new UnitOfWork(orm);
  const roles = { purge, batches: erasureDatabase(database.purgeUrl) };
  const admin = await connect(database.adminUrl);
  const plan = () => purge.acrossTenants(planErasure);
  const eraseStep: ErasureWorld['eraseStep'] = async (step, tenantId) => {
    const sizes: number[] = [];
    let cursor: string | null = null;
    do {
      const batch = await eraseBatch(roles, tenantId, step, { cursor, note: null });
      sizes.push(batch.rows);
      cursor = batch.cursor;
    } while (cursor !== null);
    return sizes;
  };
  return {
    database,
    admin,
    purge,
    roles,
    plan,
    eraseStep,
    async erase(tenantId) {
      for (const step of await plan()) {
        await eraseStep(step, tenantId);
      }
    },
    verify: (tenantId, sampleIds = []) =>
      verifyErasure({ databaseUrl: database.verifierUrl, tenantId, sampleIds }),
    async stop() {
      await Promise.all([admin.end(), orm.close(true), roles.batches.close()]);
      await database.drop();
    },
  };
}

/** Tables as a later version would add them: secured like every other, with what `migrate` runs after migrations. */
export async function addTables(admin: Client, sql: string, names: readonly string[]): Promise<void> {
  await admin.query('begin');
  await admin.query(schemaFile('migrations/helpers.sql'));
  await admin.query(sql);
  for (const name of names) await admin.query(`select pg_temp.secure_tenant_table('${name}')`);
  await admin.query(schemaFile('verifier.sql'));
  await admin.query('commit');
}

/**
 * What a `pg_dump` would hold, as text: the rows of every table, materialised view and sequence of every schema, large
 * objects, and the texts of functions, views, defaults, constraints and comments. Bytes are in hex.
 */
export async function dumpRows(admin: Client): Promise<string> {
  const { rows: defined } = await admin.query<{ text: string }>(
    `select prosrc as text from pg_proc where pronamespace::regnamespace::text not in ('pg_catalog', 'information_schema')
     union all select pg_get_viewdef(oid) from pg_class where relkind in ('v', 'm')
     union all select pg_get_expr(adbin, adrelid) from pg_attrdef
     union all select pg_get_constraintdef(oid) from pg_constraint
     union all select description from pg_description union all select description from pg_shdescription
     union all select format('%s.%s %s', schemaname, sequencename, last_value) from pg_sequences
     union all select lo_get(oid)::text from pg_largeobject_metadata`,
  );
  const texts = defined.map(({ text }) => text);
  for (const name of await allTables(admin, ['r', 'm'])) {
    const { rows } = await admin.query<{ row: string }>(`select t::text as row from ${name} t`);
    texts.push(...rows.map(({ row }) => row));
  }
  return texts.join('\n');
}

/** A checksum per table over all rows but those of one tenant. */
export async function checksumWithout(admin: Client, tenantId: string): Promise<Record<string, string>> {
  const sums: Record<string, string> = {};
  for (const name of await allTables(admin)) {
    const { rows } = await admin.query<{ sum: string }>(
      `select count(*) || ' ' || coalesce(md5(string_agg(md5(t::text), '' order by md5(t::text))), '') as sum
       from ${name} t where coalesce(to_jsonb(t) ->> 'tenant_id', '') <> $1`,
      [tenantId],
    );
    sums[name] = rows[0]!.sum;
  }
  return sums;
}

/** Every uuid and every id of text that the tenant's rows have as a primary key. */
export async function idsOf(admin: Client, tenantId: string): Promise<string[]> {
  const { rows: keys } = await admin.query<{ table: string; column: string }>(
    `select c.oid::regclass::text as table, quote_ident(a.attname) as column
     from pg_class c join pg_index i on i.indrelid = c.oid and i.indisprimary
     join pg_attribute a on a.attrelid = c.oid and a.attnum = any (i.indkey)
     where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
       and a.atttypid in ('uuid'::regtype, 'text'::regtype) and a.attname <> 'tenant_id'
       and exists (select from pg_attribute t where t.attrelid = c.oid and t.attname = 'tenant_id')`,
  );
  const ids = new Set([tenantId]);
  for (const { table, column } of keys) {
    const { rows } = await admin.query<{ id: string }>(
      `select distinct ${column}::text as id from ${table} where tenant_id = $1`,
      [tenantId],
    );
    // Shorter texts are no ids but kinds and names, such as the grain of a count.
    for (const { id } of rows) if (id.length >= 20) ids.add(id);
  }
  return [...ids];
}

async function allTables(admin: Client, kinds: readonly string[] = ['r']): Promise<string[]> {
  const { rows } = await admin.query<{ name: string }>(
    `select format('%I.%I', n.nspname, c.relname) as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
     where c.relkind = any ($1) and n.nspname not in ('pg_catalog', 'information_schema') and n.nspname !~ '^pg_toast' order by 1`,
    [kinds],
  );
  return rows.map(({ name }) => name);
}
