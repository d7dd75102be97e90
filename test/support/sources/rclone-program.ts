import { fileURLToPath } from 'node:url';
import { messageOf } from '../../../bin/launcher/errors.ts';
import { buildOnce, type TestProgram } from '../built-program.ts';

const rclone: TestProgram = {
  name: 'rclone',
  module: fileURLToPath(new URL('rclone', import.meta.url)),
  package: '.',
  doing: 'building rclone with Go, less than a minute, once on this machine',
};

type Obtained = { path: string } | { missing: string };
let obtained: Promise<Obtained> | undefined;

/**
 * Builds rclone where it is not yet there, since that of Debian cannot serve S3. The reason where that is not possible;
 * a run of CI fails then.
 */
export function obtainRclone(): Promise<Obtained> {
  return (obtained ??= build());
}

async function build(): Promise<Obtained> {
  try {
    return { path: await buildOnce(rclone, process.env) };
  } catch (error) {
    if (process.env['CI'] !== undefined) throw error;
    return { missing: `rclone cannot be built: ${messageOf(error)}` };
  }
}
