import { createHash } from 'node:crypto';
import { readFileSync, readdirSync } from 'node:fs';

/** Runs SQL in the transaction of the migration; `?` is the placeholder of a parameter. */
export type Execute = (sql: string, params?: readonly string[]) => Promise<Record<string, string>[]>;

export interface FunctionFile {
  name: string;
  sql: string;
}

/** Defined by the baseline and replaced by `migrate` after a restore; no file defines it. */
const definedByBaseline = 'app.log_beginning()';

const helpers = new URL('migrations/helpers.sql', import.meta.url);
const folder = new URL('functions/', import.meta.url);

/** Every file of `functions/`, one per feature. */
export function readFunctionFiles(): FunctionFile[] {
  const names = readdirSync(folder).filter((name) => name.endsWith('.sql'));
  return names.toSorted().map((name) => ({ name, sql: readFileSync(new URL(name, folder), 'utf8') }));
}

/**
 * Updates the functions of schema `app` to those of `files`: runs each file whose checksum differs from the stored
 * one, and drops functions that no file defines. @returns the names of the files that were run
 */
export async function applyFunctions(execute: Execute, files: readonly FunctionFile[]): Promise<string[]> {
  // Signatures are compared as text, which names a schema only outside of the path: it must not depend on the login.
  await execute('set local search_path = public');
  await execute(
    'create table if not exists app.function_files (name text primary key, checksum text not null, functions text[] not null)',
  );
  const stored = await execute('select name, checksum from app.function_files');
  const known = new Map(stored.map(({ name, checksum }) => [name, checksum]));
  const changed = files.filter((file) => known.get(file.name) !== checksumOf(file));
  if (changed.length > 0) await execute(readFileSync(helpers, 'utf8'));
  for (const file of changed) await applyFile(execute, file);
  await dropUndefined(execute, files);
  return changed.map(({ name }) => name);
}

/** Runs the definitions, then sets owner and callers of each, then runs the file's exceptions. */
async function applyFile(execute: Execute, { name, sql }: FunctionFile): Promise<void> {
  const exceptions = sql.search(/^select pg_temp\.secure_function\(/m);
  const earlier = await listWritten(execute);
  await execute(exceptions === -1 ? sql : sql.slice(0, exceptions));
  const defined = (await listWritten(execute)).filter((signature) => !earlier.includes(signature));
  for (const signature of defined) await execute('select pg_temp.secure_function(?)', [signature]);
  if (exceptions !== -1) await execute(sql.slice(exceptions));
  await execute(
    `insert into app.function_files (name, checksum, functions)
     values (?, ?, array(select jsonb_array_elements_text(?::jsonb)))
     on conflict (name) do update set checksum = excluded.checksum, functions = excluded.functions`,
    [name, checksumOf({ name, sql }), JSON.stringify(defined)],
  );
}

/** The `xmin` of a function's row is the transaction that created or replaced it last. */
async function listWritten(execute: Execute): Promise<string[]> {
  const rows = await execute(
    `select oid::regprocedure::text as signature from pg_proc
     where pronamespace = 'app'::regnamespace and xmin = pg_current_xact_id()::xid`,
  );
  return rows.map(({ signature = '' }) => signature);
}

/**
 * Functions that a trigger or a column's default needs are not dropped: an older version may migrate a newer
 * database.
 */
async function dropUndefined(execute: Execute, files: readonly FunctionFile[]): Promise<void> {
  await execute(
    `delete from app.function_files where name not in (select jsonb_array_elements_text(?::jsonb))`,
    [JSON.stringify(files.map(({ name }) => name))],
  );
  const rows = await execute(
    `select p.oid::regprocedure::text as signature from pg_proc p where p.pronamespace = 'app'::regnamespace
       and p.oid::regprocedure::text not in (select unnest(functions) from app.function_files)
       and p.oid::regprocedure::text <> ?
       and not exists (select from pg_depend d where d.refclassid = 'pg_proc'::regclass and d.refobjid = p.oid)`,
    [definedByBaseline],
  );
  for (const { signature } of rows) await execute(`drop function ${signature}`);
}

function checksumOf({ sql }: FunctionFile): string {
  return createHash('sha256').update(sql).digest('hex');
}
