import { accessSync, constants, statSync } from 'node:fs';
import { delimiter, join } from 'node:path';

const SYSTEM_FOLDERS = ['/usr/bin', '/bin', '/usr/sbin', '/sbin', '/usr/local/bin'];

function findIn(folders: readonly string[], name: string): string | undefined {
  const file = process.platform === 'win32' ? `${name}.exe` : name;
  return folders
    .filter((folder) => folder !== '')
    .map((folder) => join(folder, file))
    .find(isExecutable);
}

export function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

export function findOnPath(name: string, env: NodeJS.ProcessEnv): string | undefined {
  return findIn((env['PATH'] ?? '').split(delimiter), name);
}

/** A tool of the operating system, found even where PATH is reduced to a few folders. */
export function findSystemTool(name: string): string | undefined {
  return findIn([...(process.env['PATH'] ?? '').split(delimiter), ...SYSTEM_FOLDERS], name);
}
