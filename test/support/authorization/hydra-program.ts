import { fileURLToPath } from 'node:url';
import { isExecutable } from '../../../bin/launcher/executables.ts';
import { builtPath, buildOnce, type TestProgram } from '../built-program.ts';

const hydra: TestProgram = {
  name: 'hydra',
  module: fileURLToPath(new URL('hydra', import.meta.url)),
  package: 'github.com/ory/hydra/v2',
  doing: 'building Ory Hydra with Go, about three minutes, once on this machine',
};

/** Named by HYDRA_BINARY, or built before; the reason where it is not there. */
export function findHydra(env: NodeJS.ProcessEnv): { path: string } | { missing: string } {
  const path = env['HYDRA_BINARY'] || builtPath(hydra, env);
  return isExecutable(path)
    ? { path }
    : { missing: `Ory Hydra is not at ${path}: npm run build:hydra builds it` };
}

/** @returns its path */
export function buildHydra(env: NodeJS.ProcessEnv): Promise<string> {
  return buildOnce(hydra, env);
}
