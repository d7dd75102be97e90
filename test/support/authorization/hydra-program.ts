import { mkdirSync, readFileSync, renameSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildPinned } from '../../../bin/launcher/build-pinned.ts';
import { isExecutable } from '../../../bin/launcher/executables.ts';
import { temporalCache } from '../../../bin/launcher/find-temporal.ts';
import { lock } from '../../../bin/launcher/lock.ts';
import type { Progress } from '../../../bin/launcher/output.ts';

const module = fileURLToPath(new URL('hydra', import.meta.url));

/** Beside the Temporal server. */
function builtHydra(env: NodeJS.ProcessEnv): string {
  const pinned = readFileSync(join(module, 'go.mod'), 'utf8');
  const [, version = ''] = /github\.com\/ory\/hydra\/v2 v(\S+)/.exec(pinned) ?? [];
  return join(dirname(temporalCache(env)), `hydra-${version}`, 'hydra');
}

/** Named by HYDRA_BINARY, or built before; the reason where it is not there. */
export function findHydra(env: NodeJS.ProcessEnv): { path: string } | { missing: string } {
  const path = env['HYDRA_BINARY'] || builtHydra(env);
  return isExecutable(path)
    ? { path }
    : { missing: `Ory Hydra is not at ${path}: npm run build:hydra builds it` };
}

/** Builds it once on a machine. @returns its path */
export async function buildHydra(env: NodeJS.ProcessEnv, progress: Progress): Promise<string> {
  const path = builtHydra(env);
  mkdirSync(dirname(path), { recursive: true });
  const held = await lock(join(dirname(path), 'build.lock'));
  try {
    if (!isExecutable(path)) {
      const doing = 'building Ory Hydra with Go, about three minutes, once on this machine';
      const program = { module, package: 'github.com/ory/hydra/v2', doing };
      await buildPinned(program, { target: `${path}.new`, env, progress });
      renameSync(`${path}.new`, path);
    }
    return path;
  } finally {
    held.release();
  }
}
