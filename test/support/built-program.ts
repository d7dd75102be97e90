import { mkdirSync, readFileSync, renameSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { buildPinned, type PinnedProgram } from '../../bin/launcher/build-pinned.ts';
import { isExecutable } from '../../bin/launcher/executables.ts';
import { temporalCache } from '../../bin/launcher/find-temporal.ts';
import { lock } from '../../bin/launcher/lock.ts';
import type { Progress } from '../../bin/launcher/output.ts';

/** A program in Go that tests use. */
export interface TestProgram extends PinnedProgram {
  name: string;
  /** The path in `go.mod` whose version the program has. */
  versionOf: string;
}

/** Where the program of that version is once it is built: beside the Temporal server. */
export function builtPath({ name, module, versionOf }: TestProgram, env: NodeJS.ProcessEnv): string {
  const requirement = readFileSync(join(module, 'go.mod'), 'utf8')
    .split('\n')
    .map((line) => line.trim().split(' '))
    .find(([path]) => path === versionOf);
  return join(dirname(temporalCache(env)), `${name}-${requirement?.[1]?.slice(1) ?? ''}`, name);
}

/** Builds a program once on a machine. @returns its path */
export async function buildOnce(
  program: TestProgram,
  env: NodeJS.ProcessEnv,
  progress: Progress,
): Promise<string> {
  const path = builtPath(program, env);
  if (isExecutable(path)) return path;
  mkdirSync(dirname(path), { recursive: true });
  const held = await lock(join(dirname(path), 'build.lock'));
  try {
    // Another process may have finished while this one waited.
    if (!isExecutable(path)) {
      await buildPinned(program, { target: `${path}.new`, env, progress });
      renameSync(`${path}.new`, path);
    }
    return path;
  } finally {
    held.release();
  }
}
