import { readFileSync } from 'node:fs';
import type { Client } from 'pg';
import { boundedClient } from '#domain/foundation/persistence/bounded-client.ts';
import { applyFunctions, readFunctionFiles } from './apply-functions.ts';
import { passwordChanges, type MigrationInput } from './logins.ts';
import { createOrm } from './orm.ts';

/** For `uuidv7()`. */
const minPostgresVersion = 18;

/** SQL states of a lock timeout and of a deadlock. */
const lockLost = new Set(['55P03', '40P01']);

/** A statement of a migration may rewrite a table; a second migrator waits for all statements of the first. */
const statementTimeoutMs = 600_000;
const lockWaitMs = 3_600_000;

/** Of every cluster; the lock is taken there. */
const fixedDatabase = 'postgres';
const migrationLock = 7_205_759;

/**
 * Creates roles, applies pending migrations and changed functions, and sets the passwords of the login roles from
 * their URLs. Runs on an admin login; safe to repeat and to run concurrently.
 * @throws for a server that is too old, or whose logins another database uses with other passwords
 */
export async function migrate(config: MigrationInput): Promise<void> {
  const Admin = boundedClient({ statementTimeoutMs });
  const connect = async (url: string): Promise<Client> => {
    const client = new Admin({ connectionString: url, connectionTimeoutMillis: 10_000 });
    await client.connect();
    return client;
  };
  const admin = await connect(config.DATABASE_ADMIN_URL);
  let cluster: Client | undefined;
  try {
    await requireVersion(admin);
    // Roles belong to the cluster, and an advisory lock to a database.
    cluster = await connect(withDatabase(config.DATABASE_ADMIN_URL, fixedDatabase));
    await takeLock(cluster);
    // Also excludes a migrator of an earlier version, which takes the lock in the database that it migrates.
    await takeLock(admin);
    const changes = await passwordChanges(admin, config);
    await admin.query(readSql('roles.sql'));
    for (const { role, password } of changes) {
      await admin.query(`alter role ${role} login password ${admin.escapeLiteral(password)}`);
    }
    await changeSchema(config.DATABASE_ADMIN_URL);
    await continueRestoredLog(admin);
    await maintainPartitions(admin);
  } finally {
    await admin.end();
    await cluster?.end();
  }
}

async function takeLock(client: Client): Promise<void> {
  const lock = { text: 'select pg_advisory_lock($1)', answerWithinMs: lockWaitMs };
  await client.query(lock, [migrationLock]);
}

function withDatabase(url: string, name: string): string {
  const other = new URL(url);
  other.pathname = `/${name}`;
  return other.href;
}

/**
 * Applies the pending dated migrations and then the functions in one transaction, so that neither exists without the
 * other.
 */
async function changeSchema(url: string): Promise<void> {
  const orm = createOrm({ url, statementTimeoutMs, poolSize: 1 });
  try {
    // Creates the migrator's table on its own connection, before the transaction takes the only one.
    await orm.migrator.getPending();
    await orm.em.getConnection().transactional(async (transaction) => {
      await orm.migrator.up({ transaction });
      await applyFunctions(
        (sql, params) => orm.em.getConnection().execute(sql, params, 'all', transaction),
        readFunctionFiles(),
      );
      await orm.em.getConnection().execute(readSql('verifier.sql'), [], 'all', transaction);
    });
  } finally {
    await orm.close(true);
  }
}

const restoredLogBeginning = `
  select (last::text::bigint - pg_snapshot_xmax(pg_current_snapshot())::text::bigint + 1)::text as beginning
  from (select app.last_log_position() as last) log
  where last >= app.log_position(pg_snapshot_xmax(pg_current_snapshot()))`;

/**
 * A dump contains the order of the log but not the server's transaction counter, which continues that order. In a
 * server with a lower counter, new events must be ordered after the restored ones. The lock excludes earlier writes.
 */
async function continueRestoredLog(admin: Client): Promise<void> {
  const { rowCount } = await admin.query(restoredLogBeginning);
  if (rowCount === 0) {
    return;
  }
  await admin.query('begin');
  await admin.query('lock table events in share row exclusive mode');
  const { rows } = await admin.query<{ beginning: string }>(restoredLogBeginning);
  if (rows[0] !== undefined) {
    const beginning = admin.escapeLiteral(`select ${rows[0].beginning}::bigint`);
    await admin.query(
      `create or replace function app.log_beginning() returns bigint language sql immutable as ${beginning}`,
    );
  }
  await admin.query('commit');
}

/** Maintains due partitions. Does not wait for a dump, which locks the log for long: the workers' upkeep retries. */
async function maintainPartitions(admin: Client): Promise<void> {
  await admin.query(`set lock_timeout = '2s'`);
  try {
    let more = true;
    while (more) {
      const { rows } = await admin.query<{ more: boolean }>('select app.maintain_partitions() as more');
      more = rows[0]?.more ?? false;
    }
  } catch (error) {
    if (!lockLost.has((error as { code?: string }).code ?? '')) throw error;
  }
}

/** Checked before any change: the migration would fail half-way without a clear reason. */
export async function requireVersion(admin: Pick<Client, 'query'>): Promise<void> {
  const { rows } = await admin.query<{ version: string }>('select version() as version');
  const version = rows[0]?.version ?? '';
  if (Number(/^PostgreSQL (\d+)/.exec(version)?.[1] ?? 0) < minPostgresVersion) {
    throw new Error(`PostgreSQL ${minPostgresVersion} or newer is needed, and this is ${version}.`);
  }
}

const readSql = (name: string): string => readFileSync(new URL(name, import.meta.url), 'utf8');
