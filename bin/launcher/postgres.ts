import type { ChildProcess } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { clusterOf, ensureSecret, newPassword, readIfPresent } from './data-directory.ts';
import { codeOf, LaunchError, messageOf } from './errors.ts';
import { hostedPid, readLines, runHosted, spawnHosted, type HostedCommand } from './hosted.ts';
import { findFreePort } from './ports.ts';
import { findPostgresBinaries, type PostgresBinaries } from './postgres-binaries.ts';
import { choosePostgresUser, type PostgresUser } from './postgres-user.ts';
import { commandOf, endRecorded, isAlive, sendSignal } from './processes.ts';

export interface PostgresOptions {
  /** A folder of its own: the cluster, its password and the record of the running server. */
  dataDir: string;
  /** On 127.0.0.1; without one a free port is taken. */
  port?: number;
  /** Server settings beside ours, for example `{ max_connections: '300' }`. */
  settings?: Readonly<Record<string, string>>;
  log?: (line: string) => void;
  signal?: AbortSignal;
}

export interface PreparedPostgres {
  port: number;
  /** The superuser's URL of the database `platform`. */
  adminUrl: string;
  /** Starts the server below a host that stops it when this process ends. */
  spawn(): ChildProcess;
  /** Waits until this server answers, and creates the database if it is missing. */
  ready(signal: AbortSignal): Promise<void>;
}

export interface RunningPostgres {
  port: number;
  adminUrl: string;
  /** The postmaster. */
  pid: number;
  /** Ends sessions and stops; resolves when the process has gone. */
  stop(): Promise<void>;
  /** SIGKILL to the postmaster: what a crash leaves behind. */
  kill(): void;
}

const DATABASE = 'platform';
const STOP_TIMEOUT_MS = 1500;

// Statements and values are not logged by the server: they hold tenants' content.
const SETTINGS = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  fsync: 'on',
  TimeZone: 'UTC',
  log_timezone: 'UTC',
  log_error_verbosity: 'terse',
  log_min_error_statement: 'panic',
};

/**
 * For a server of one machine. Autovacuum forks a process for each database at each interval, whether or not it has
 * work, which is a third of the server's cost while idle.
 */
export const SLOW_UPKEEP = { autovacuum_naptime: '3min' };

/** Creates the cluster on first use; afterwards only looks where everything is. */
export async function preparePostgres(options: PostgresOptions): Promise<PreparedPostgres> {
  const { dataDir, settings = {} } = options;
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  const binaries = findPostgresBinaries();
  const passwordFile = join(dataDir, 'admin.password');
  const password = ensureSecret(passwordFile, newPassword);
  const user = choosePostgresUser(dataDir, binaries.postgres);
  const cluster = clusterOf(dataDir);
  if (!existsSync(join(cluster, 'PG_VERSION')))
    await createCluster({ cluster, passwordFile, binaries, user, options });
  const port = options.port ?? (await findFreePort());
  const flags = Object.entries({ ...SETTINGS, ...settings, port: String(port) }).flatMap(([name, value]) => [
    '-c',
    `${name}=${value}`,
  ]);
  const hosted: HostedCommand = {
    ...as(user, [binaries.postgres, '-D', cluster, ...flags]),
    stopSignal: 'SIGINT',
    stopTimeoutMs: STOP_TIMEOUT_MS,
    recordFile: recordOf(dataDir),
  };
  const adminUrl = `postgres://postgres:${password}@127.0.0.1:${port}/${DATABASE}`;
  return {
    port,
    adminUrl,
    ready: (signal) => waitForPostgres({ adminUrl, cluster, port }, signal),
    spawn() {
      removeForeignLock(cluster);
      return spawnHosted(hosted);
    },
  };
}

const recordOf = (dataDir: string): string => join(dataDir, 'server.json');

/** Ends the server of an earlier start in this folder: nothing else does when its host was killed with the launcher. */
export function endLeftServer(dataDir: string, graceMs: number): Promise<void> {
  return endRecorded(recordOf(dataDir), graceMs, 'SIGINT');
}

async function waitForPostgres(
  { adminUrl, cluster, port }: { adminUrl: string; cluster: string; port: number },
  signal: AbortSignal,
): Promise<void> {
  const maintenance = new URL(adminUrl);
  maintenance.pathname = '/postgres';
  for (; ; await sleep(50, undefined, { signal })) {
    signal.throwIfAborted();
    if (!listens(cluster, port)) continue;
    const client = new Client({
      connectionString: maintenance.href,
      connectionTimeoutMillis: 2000,
      query_timeout: 10_000,
    });
    // The server may end while this is connected; the query then says so.
    client.on('error', () => undefined);
    try {
      await client.connect();
      const { rowCount } = await client.query('select 1 from pg_database where datname = $1', [DATABASE]);
      if (rowCount === 0) await client.query(`create database ${DATABASE}`);
      return;
    } catch (error) {
      if (codeOf(error) === '28P01') {
        throw new LaunchError(
          'The database in the data folder does not accept the password stored beside it: restore postgres/admin.password from a copy of the folder.',
        );
      }
      if (!isStarting(error)) throw error;
    } finally {
      await client.end().catch(() => {});
    }
  }
}

/**
 * Whether the server of this cluster listens on the port, as its lock file says: another start, or another program,
 * may have taken the port since it was found free.
 */
function listens(cluster: string, port: number): boolean {
  const [pid, , , portLine, , , , status] = (readIfPresent(join(cluster, 'postmaster.pid')) ?? '').split(
    '\n',
  );
  return Number(portLine) === port && status?.trim() === 'ready' && isAlive(Number(pid));
}

/** An embedded PostgreSQL that answers; it does not restart by itself. */
export async function startPostgres(options: PostgresOptions): Promise<RunningPostgres> {
  const prepared = await preparePostgres(options);
  const host = prepared.spawn();
  const tail: string[] = [];
  readLines(host, (line) => {
    tail.push(line);
    options.log?.(line);
  });
  const ended = new AbortController();
  const gone = new Promise<void>((resolve) => host.once('exit', () => resolve()));
  void gone.then(() => ended.abort(new LaunchError('PostgreSQL ended while starting.', tail.slice(-10))));
  const signal = AbortSignal.any([
    ended.signal,
    AbortSignal.timeout(60_000),
    ...(options.signal ? [options.signal] : []),
  ]);
  async function stop(): Promise<void> {
    host.kill('SIGTERM');
    await gone;
  }
  try {
    const pid = await hostedPid(host);
    await prepared.ready(signal);
    return {
      port: prepared.port,
      adminUrl: prepared.adminUrl,
      pid,
      stop,
      kill: () => sendSignal(pid, 'SIGKILL'),
    };
  } catch (error) {
    await stop();
    throw signal.aborted ? signal.reason : error;
  }
}

interface ClusterInput {
  cluster: string;
  passwordFile: string;
  binaries: PostgresBinaries;
  user: PostgresUser;
  options: PostgresOptions;
}

async function createCluster({
  cluster,
  passwordFile,
  binaries,
  user,
  options,
}: ClusterInput): Promise<void> {
  const { dataDir, signal } = options;
  // Created beside its place and renamed: an interrupted first start leaves no half cluster.
  for (const name of readdirSync(dataDir))
    if (name.startsWith('new-')) rmSync(join(dataDir, name), { recursive: true });
  const fresh = join(dataDir, `new-${process.pid}`);
  let tail: string[] = [];
  // Letters beyond ASCII need a UTF-8 character type; not every system has the first one.
  for (const locale of ['C.UTF-8', 'en_US.UTF-8', 'C']) {
    const flags = [
      '-D',
      fresh,
      '-U',
      'postgres',
      '-A',
      'scram-sha-256',
      '-E',
      'UTF8',
      `--pwfile=${passwordFile}`,
    ];
    const collation = [`--locale=${locale}`, '--locale-provider=builtin', '--builtin-locale=C.UTF-8'];
    const command = as(user, [binaries.initdb, ...flags, ...collation]);
    const result = await runHosted(command, signal ? { signal } : {});
    if (result.code === 0) return renameSync(fresh, cluster);
    tail = result.tail;
    rmSync(fresh, { recursive: true, force: true });
  }
  throw new LaunchError(`The database in ${dataDir} could not be created.`, tail);
}

function as(
  user: PostgresUser,
  command: readonly string[],
): Pick<HostedCommand, 'command' | 'args' | 'env' | 'cwd' | 'uid' | 'gid'> {
  const [program = '', ...args] = [...user.prefix, ...command];
  return {
    command: program,
    args,
    env: { PATH: process.env['PATH'], LC_MESSAGES: 'C' },
    cwd: '/',
    ...(user.uid === undefined ? {} : { uid: user.uid }),
    ...(user.gid === undefined ? {} : { gid: user.gid }),
  };
}

/** PostgreSQL trusts the pid in its lock file; after a crash that number may belong to another program. */
function removeForeignLock(cluster: string): void {
  const file = join(cluster, 'postmaster.pid');
  if (!existsSync(file)) return;
  const pid = Number.parseInt(readFileSync(file, 'utf8'), 10);
  const command = commandOf(pid);
  if (command === undefined || !command.includes('postgres')) rmSync(file, { force: true });
}

function isStarting(error: unknown): boolean {
  const code = codeOf(error);
  if (code === 'ECONNREFUSED' || code === 'ECONNRESET' || code === '57P03') return true;
  return /timeout|terminated/i.test(messageOf(error));
}
