import { randomBytes } from 'node:crypto';
import {
  chmodSync,
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { codeOf, LaunchError, messageOf } from './errors.ts';
import { tryLock } from './lock.ts';

/** Everything that survives a stop, in one folder that one launcher at a time holds. */
export interface DataDirectory {
  path: string;
  logs: string;
  /** Records of running processes, one file each. */
  run: string;
  postgres: string;
  temporalFile: string;
  /** Base64 of 32 random bytes. */
  masterKey: string;
  passwords: { runtime: string; purge: string; verifier: string };
  release(): void;
}

const PRIVATE_FILE = 0o600;
const PRIVATE_FOLDER = 0o700;

export function openDataDirectory(path: string): DataDirectory {
  return rejectUnwritable(path, () => {
    for (const folder of ['', 'logs', 'run', 'postgres'])
      mkdirSync(join(path, folder), { recursive: true, mode: PRIVATE_FOLDER });
    const held = tryLock(join(path, 'launcher.lock'));
    const holder = join(path, 'launcher.pid');
    if (!held) {
      const pid = readIfPresent(holder);
      throw new LaunchError(
        `The platform already runs on ${path}${pid ? ` (process ${pid})` : ''}: stop it, or give this start another folder with PLATFORM_DATA_DIR.`,
      );
    }
    try {
      requireSecretsOf(path);
    } catch (error) {
      held.release();
      throw error;
    }
    writeFileSync(holder, String(process.pid));
    return {
      path,
      logs: join(path, 'logs'),
      run: join(path, 'run'),
      postgres: join(path, 'postgres'),
      temporalFile: join(path, 'temporal.db'),
      masterKey: ensureSecret(join(path, 'master.key'), () => randomBytes(32).toString('base64')),
      passwords: {
        runtime: ensureSecret(join(path, 'app_rt.password'), newPassword),
        purge: ensureSecret(join(path, 'app_purge.password'), newPassword),
        verifier: ensureSecret(join(path, 'app_verifier.password'), newPassword),
      },
      release() {
        rmSync(holder, { force: true });
        held.release();
      },
    };
  });
}

/** Where the launcher creates its database. */
export const clusterOf = (postgresFolder: string): string => join(postgresFolder, 'cluster');

/**
 * A new secret beside an existing database opens nothing in it: a new master key would make every API key invalid and
 * every sealed field unreadable, and what is sealed from then on would be lost when the right key comes back.
 */
function requireSecretsOf(path: string): void {
  if (!existsSync(clusterOf(join(path, 'postgres')))) return;
  for (const name of ['master.key', 'postgres/admin.password']) {
    if (readIfPresent(join(path, name))?.trim()) continue;
    throw new LaunchError(
      `The data folder ${path} holds a database, but its ${name} is missing or empty: restore that file from a copy of the folder, or choose another folder with PLATFORM_DATA_DIR.`,
    );
  }
}

/** The secret in the file, made on first use and readable by its owner alone. */
export function ensureSecret(path: string, create: () => string): string {
  const known = readIfPresent(path)?.trim();
  if (known) return known;
  const secret = create();
  writePrivately(path, secret);
  return secret;
}

/** Writes atomically and to the disk, so that neither a killed start nor a power failure leaves half a secret. */
export function writePrivately(path: string, text: string): void {
  const temporary = `${path}.${process.pid}.tmp`;
  const file = openSync(temporary, 'w', PRIVATE_FILE);
  try {
    writeFileSync(file, text);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  chmodSync(temporary, PRIVATE_FILE);
  renameSync(temporary, path);
  const folder = openSync(dirname(path), 'r');
  try {
    fsyncSync(folder);
  } finally {
    closeSync(folder);
  }
}

export function readIfPresent(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw error;
  }
}

/** Hexadecimal, so that it stands in a connection URL as it is. */
export function newPassword(): string {
  return randomBytes(24).toString('hex');
}

function rejectUnwritable<T>(path: string, open: () => T): T {
  try {
    return open();
  } catch (error) {
    if (error instanceof LaunchError) throw error;
    throw new LaunchError(
      `The data folder ${path} cannot be used (${codeOf(error) ?? messageOf(error)}): give write rights on it, or choose another with PLATFORM_DATA_DIR.`,
    );
  }
}
