import { fileURLToPath } from 'node:url';
import { silentProgress } from '../../../bin/launcher/output.ts';
import { buildOnce, type TestProgram } from '../built-program.ts';

const rclone: TestProgram = {
  name: 'rclone',
  module: fileURLToPath(new URL('rclone', import.meta.url)),
  package: '.',
  versionOf: 'github.com/rclone/rclone',
  doing: 'building rclone with Go',
};

/**
 * Builds rclone where it is not yet there, in about a minute, since that of Debian cannot serve S3. The reason where
 * that is not possible; a run of CI fails then.
 */
export async function obtainRclone(): Promise<{ path: string } | { missing: string }> {
  try {
    return { path: await buildOnce(rclone, process.env, silentProgress) };
  } catch (error) {
    if (process.env['CI'] !== undefined) throw error;
    return { missing: `rclone cannot be built: ${String(error)}` };
  }
}
