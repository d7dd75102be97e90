import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

export const checkout = fileURLToPath(new URL('../..', import.meta.url));

/** Committed and new files that are not ignored, as paths from the root with `/`. */
export async function listFiles(): Promise<string[]> {
  const list = ['ls-files', '--cached', '--others', '--exclude-standard', '-z'];
  const { stdout } = await promisify(execFile)('git', list, { cwd: checkout, maxBuffer: 64 * 1024 * 1024 });
  return stdout.split('\0').filter((path) => path !== '' && existsSync(join(checkout, path)));
}
