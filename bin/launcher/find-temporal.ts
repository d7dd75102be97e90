import { mkdirSync, renameSync, rmSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { buildTemporal } from './build-temporal.ts';
import { downloadTemporal } from './download-temporal.ts';
import { codeOf, LaunchError, messageOf } from './errors.ts';
import { findOnPath, isExecutable } from './executables.ts';
import { runHosted } from './hosted.ts';
import { lock, tryLock, type Lock } from './lock.ts';
import { silentProgress, type Progress } from './output.ts';
import { TEMPORAL_VERSION } from './temporal-version.ts';

/** The oldest server with fair task queues. */
const OLDEST_SERVER = [1, 29];

export interface FindTemporalInput {
  /** Holds the binary of our version; see `temporalCache`. */
  cacheDir: string;
  env: NodeJS.ProcessEnv;
  progress?: Progress;
  signal?: AbortSignal;
}

export interface FoundTemporal {
  path: string;
  /** For display: where it came from. */
  how: string;
}

/** Outside the checkout, so that a fresh clone does not build again. */
export function temporalCache(env: NodeJS.ProcessEnv): string {
  return join(
    env['XDG_CACHE_HOME'] || join(env['HOME'] || homedir(), '.cache'),
    'platform',
    `temporal-${TEMPORAL_VERSION}`,
  );
}

/** On PATH, in the cache, downloaded, or built: the first that works. */
export async function findTemporal(input: FindTemporalInput): Promise<FoundTemporal> {
  const { cacheDir, env, progress = silentProgress, signal } = input;
  const onPath = findOnPath('temporal', env);
  if (onPath) {
    if (await isNewEnough(onPath, signal)) return { path: onPath, how: 'found on PATH' };
    progress.note(
      `the temporal on PATH (${onPath}) is older than server ${OLDEST_SERVER.join('.')}: not used`,
    );
  }
  const path = join(cacheDir, process.platform === 'win32' ? 'temporal.exe' : 'temporal');
  if (isExecutable(path)) return { path, how: 'cached' };
  const held = await lockCache(cacheDir, progress, signal);
  try {
    // Another start may have finished while this one waited.
    if (isExecutable(path)) return { path, how: 'cached' };
    return await obtain({ path, env, progress, ...(signal ? { signal } : {}) });
  } finally {
    held.release();
  }
}

interface ObtainInput {
  path: string;
  env: NodeJS.ProcessEnv;
  progress: Progress;
  signal?: AbortSignal;
}

async function obtain({ path, env, progress, signal }: ObtainInput): Promise<FoundTemporal> {
  const fresh = `${path}.new`;
  const reasons: string[] = [];
  const ways = [
    { how: 'downloaded', get: downloadTemporal },
    { how: 'built with Go', get: buildTemporal },
  ];
  for (const { how, get } of ways) {
    rmSync(fresh, { force: true });
    try {
      await get({ target: fresh, env, progress, ...(signal ? { signal } : {}) });
      if (!(await isNewEnough(fresh, signal))) throw new Error('the program does not run here');
      renameSync(fresh, path);
      return { path, how };
    } catch (error) {
      signal?.throwIfAborted();
      reasons.push(`${how}: no, ${messageOf(error)}`);
    }
  }
  rmSync(fresh, { force: true });
  throw new LaunchError(
    'No Temporal server can be had here: put `temporal` on PATH, set TEMPORAL_ADDRESS to a running server, allow access to temporal.download, or install Go 1.26 or Python with pip so that one can be built.',
    reasons,
  );
}

async function lockCache(cacheDir: string, progress: Progress, signal?: AbortSignal): Promise<Lock> {
  const file = join(cacheDir, 'build.lock');
  try {
    mkdirSync(cacheDir, { recursive: true });
    return (
      tryLock(file) ??
      (await progress.during('waiting for another start to get the Temporal server', lock(file, signal)))
    );
  } catch (error) {
    signal?.throwIfAborted();
    throw new LaunchError(
      `The cache folder ${cacheDir} cannot be used (${codeOf(error) ?? messageOf(error)}): give write rights on it, or choose another with XDG_CACHE_HOME.`,
    );
  }
}

async function isNewEnough(binary: string, signal?: AbortSignal): Promise<boolean> {
  const { stdout } = await runHosted(
    { command: binary, args: ['--version'], env: {} },
    signal ? { signal } : {},
  );
  const [, major = '0', minor = '0'] = /server (\d+)\.(\d+)/i.exec(stdout.join('\n')) ?? [];
  const [oldestMajor = 0, oldestMinor = 0] = OLDEST_SERVER;
  return Number(major) > oldestMajor || (Number(major) === oldestMajor && Number(minor) >= oldestMinor);
}
