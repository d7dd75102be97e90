import { execFile } from 'node:child_process';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { newPassword } from '../../bin/launcher/data-directory.ts';
import { findTemporal, temporalCache } from '../../bin/launcher/find-temporal.ts';
import type { Progress } from '../../bin/launcher/output.ts';
import { sendSignal } from '../../bin/launcher/processes.ts';
import { startPostgres, type RunningPostgres } from '../../bin/launcher/postgres.ts';
import { NAMESPACE, startTemporal, type RunningTemporal } from '../../bin/launcher/temporal.ts';
import { makeDataFolder } from './data-folder.ts';
import { databaseUrl, withRole } from './database-urls.ts';
import type { ProvidedPostgres, ProvidedTemporal } from './provided.ts';

export interface TestServers {
  postgres: ProvidedPostgres;
  temporal: ProvidedTemporal;
  /** A file with the workflow code. */
  workflowBundle: string;
  stop(): Promise<void>;
}

export interface TestServersInput {
  log: (server: string, line: string) => void;
  progress: Progress;
}

const writeBundleScript = fileURLToPath(new URL('../../temporal/write-bundle.ts', import.meta.url));
const TEMPLATE = 'platform_template';
/** A free port may be taken by another run before the server opens it. */
const START_ATTEMPTS = 3;

/** One PostgreSQL and one Temporal server for a whole run, on free ports and in a folder of their own. */
export async function startTestServers(input: TestServersInput): Promise<TestServers> {
  const folder = makeDataFolder();
  let postmaster: number | undefined;
  /** An interrupted run ends at once; the servers' hosts notice, and this process removes the folder. */
  function abandon(): void {
    if (postmaster !== undefined) sendSignal(postmaster, 'SIGKILL');
    rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
  }
  process.once('exit', abandon);
  const starting = [startDatabase(folder, input), startWorkflowServer(input)] as const;
  async function stop(): Promise<void> {
    const started = await Promise.allSettled(starting);
    await Promise.all(
      started.map(async (result) => {
        if (result.status === 'fulfilled') await result.value.stop();
      }),
    );
    process.off('exit', abandon);
    rmSync(folder, { recursive: true, force: true });
  }
  try {
    const [database, temporal] = await Promise.all(starting);
    postmaster = database.pid;
    const workflowBundle = join(folder, 'workflow-bundle.js');
    const [postgres] = await Promise.all([prepareTemplate(database.adminUrl), writeBundle(workflowBundle)]);
    return { workflowBundle, postgres, temporal: { address: temporal.address, namespace: NAMESPACE }, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Over a Unix socket, at half the cost of TCP: a run makes millions of calls. */
async function startDatabase(folder: string, { log }: TestServersInput): Promise<RunningPostgres> {
  const dataDir = join(folder, 'postgres');
  const sockets = join(dataDir, 'cluster');
  const database = await repeat(() =>
    startPostgres({
      dataDir,
      settings: { max_connections: '300', unix_socket_directories: sockets },
      log: (line) => log('postgres', line),
    }),
  );
  const adminUrl = new URL(database.adminUrl);
  adminUrl.searchParams.set('host', sockets);
  // A socket path is limited to some hundred bytes; a folder for temporary files may be deeper.
  const fits = Buffer.byteLength(`${sockets}/.s.PGSQL.${database.port}`) <= 103;
  return fits ? { ...database, adminUrl: adminUrl.href } : database;
}

async function startWorkflowServer({ log, progress }: TestServersInput): Promise<RunningTemporal> {
  const { env } = process;
  const { path } = await findTemporal({ cacheDir: temporalCache(env), env, progress });
  // A tenth of the default, so that a workflow continues as new without running for a minute before.
  const settings = { 'limit.historyCount.suggestContinueAsNew': 400, 'frontend.WorkflowPauseEnabled': true };
  return repeat(() => startTemporal({ binary: path, settings, log: (line) => log('temporal', line) }));
}

/** Once for the workers of all files: each start is then a second shorter. */
async function writeBundle(file: string): Promise<void> {
  await promisify(execFile)(process.execPath, [writeBundleScript, file]);
}

async function repeat<T>(start: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await start();
    } catch (error) {
      if (attempt === START_ATTEMPTS) throw error;
    }
  }
}

/** A migrated database to copy, on any server of ours. */
export async function prepareTemplate(serverUrl: string): Promise<ProvidedPostgres> {
  const rolePassword = newPassword();
  const adminUrl = databaseUrl(serverUrl, TEMPLATE);
  const { createDatabase } = await import('./database-admin.ts');
  // The ORM takes a third of a second to load: only after the servers are up and no other step waits.
  const { migrate } = await import('#domain/operations/schema/migrate.ts');
  await createDatabase(serverUrl, { name: TEMPLATE });
  await migrate({
    DATABASE_ADMIN_URL: adminUrl,
    DATABASE_URL: withRole(adminUrl, 'app_rt', rolePassword),
    DATABASE_PURGE_URL: withRole(adminUrl, 'app_purge', rolePassword),
    DATABASE_VERIFIER_URL: withRole(adminUrl, 'app_verifier', rolePassword),
  });
  return { adminUrl: serverUrl, rolePassword, templateDatabase: TEMPLATE };
}
