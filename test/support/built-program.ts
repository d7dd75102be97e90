import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, renameSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { buildPinned, type PinnedProgram } from '../../bin/launcher/build-pinned.ts';
import { isExecutable } from '../../bin/launcher/executables.ts';
import { temporalCache } from '../../bin/launcher/find-temporal.ts';
import { lock } from '../../bin/launcher/lock.ts';
import { progress } from './progress.ts';

/** A build that takes longer hangs, such as on the network. */
const withinMs = 900_000;

/** A program in Go that tests use. */
export interface TestProgram extends PinnedProgram {
  name: string;
}

/** Where the program is once it is built, beside the Temporal server: another place for each state of its module. */
export function builtPath({ name, module }: TestProgram, env: NodeJS.ProcessEnv): string {
  const hash = createHash('sha256');
  for (const file of readdirSync(module).toSorted()) hash.update(readFileSync(join(module, file)));
  return join(dirname(temporalCache(env)), `${name}-${hash.digest('hex').slice(0, 16)}`, name);
}

/** Builds a program once on a machine. @returns its path */
export async function buildOnce(program: TestProgram, env: NodeJS.ProcessEnv): Promise<string> {
  const path = builtPath(program, env);
  if (isExecutable(path)) return path;
  const signal = AbortSignal.timeout(withinMs);
  mkdirSync(dirname(path), { recursive: true });
  const held = await lock(join(dirname(path), 'build.lock'), signal);
  try {
    // Another process may have finished while this one waited.
    if (!isExecutable(path)) {
      await buildPinned(program, { target: `${path}.new`, env, progress, signal });
      renameSync(`${path}.new`, path);
    }
    return path;
  } finally {
    held.release();
  }
}
