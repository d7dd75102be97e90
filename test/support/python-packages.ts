import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rename, rm, stat } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** A folder of packages, with their versions in its name. */
export interface PackageSet {
  name: string;
  packages: readonly string[];
}

export type Installed = { path: string } | { missing: string };

/** The same, or the reason where it is impossible. */
export function installOrSay(set: PackageSet): Promise<Installed> {
  return installPackages(set).catch((error: unknown) => ({
    missing: error instanceof Error ? error.message : String(error),
  }));
}

/** Python packages, installed once outside the checkout. @throws when they cannot be installed */
export async function installPackages({ name, packages }: PackageSet): Promise<{ path: string }> {
  const { stdout } = await run('python3', [
    '-c',
    'import sys, pip; print("%d.%d" % sys.version_info[:2])',
  ]).catch(() => {
    throw new Error('python3 or pip is not here');
  });
  const cache = join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'platform');
  const path = join(cache, `python${stdout.trim()}-${name}`);
  if (await stat(path).catch(() => null)) return { path };
  await mkdir(cache, { recursive: true });
  const staged = await mkdtemp(`${path}.`);
  const options = ['--quiet', '--disable-pip-version-check', '--no-input'];
  await run('python3', ['-m', 'pip', 'install', ...options, '--target', staged, ...packages]).catch(
    async () => {
      await rm(staged, { recursive: true, force: true });
      throw new Error(`pip could not install ${packages.join(' ')}`);
    },
  );
  // The second installer finds the first one's folder in its place.
  await rename(staged, path).catch(() => rm(staged, { recursive: true, force: true }));
  return { path };
}
