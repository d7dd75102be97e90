import { copyFileSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { withGo } from '../../bin/launcher/build-pinned.ts';
import { isExecutable } from '../../bin/launcher/executables.ts';
import { temporalCache } from '../../bin/launcher/find-temporal.ts';
import { runHosted } from '../../bin/launcher/hosted.ts';
import { lock } from '../../bin/launcher/lock.ts';
import type { Progress } from '../../bin/launcher/output.ts';

/** The programs of the server's image and of its tools' image, under the names that they have there. */
export interface TemporalPrograms {
  server: string;
  /** The folder that holds `temporal-sql-tool`. */
  folder: string;
}

/** The program of Temporal UI, and what its image runs. */
export interface TemporalUi {
  command: string[];
}

/** Builds the server and its schema tool once on a machine, at the version of the image in the compose file. */
export async function findTemporalServer(version: string, progress: Progress): Promise<TemporalPrograms> {
  const module = 'go.temporal.io/server';
  const packages = { 'temporal-server': 'cmd/server', 'temporal-sql-tool': 'cmd/tools/sql' };
  const folder = await findBuilt({ name: 'temporal-server', module, packages, version, progress });
  return { server: join(folder, 'temporal-server'), folder };
}

/** The same for the UI. Its image keeps the settings beside the program; here they lie in `root`, for loopback. */
export async function findTemporalUi(
  version: string,
  { root, progress }: { root: string; progress: Progress },
): Promise<TemporalUi> {
  const module = 'github.com/temporalio/ui-server/v2';
  const packages = { 'ui-server': 'cmd/server' };
  const keep = 'config/docker.yaml';
  const folder = await findBuilt({ name: 'temporal-ui', module, packages, version, progress, keep });
  mkdirSync(dirname(join(root, keep)), { recursive: true });
  writeFileSync(join(root, keep), `${readFileSync(join(folder, keep), 'utf8')}\nhost: 127.0.0.1\n`);
  return { command: [join(folder, 'ui-server'), '--root', root, '--env', 'docker', 'start'] };
}

/** @returns the folder of the front's program */
export async function findCaddy(version: string, progress: Progress): Promise<string> {
  const module = 'github.com/caddyserver/caddy/v2';
  return findBuilt({ name: 'caddy', module, packages: { caddy: 'cmd/caddy' }, version, progress });
}

/** The front's own configuration for a port and gateways that are here. */
export function frontConfiguration(port: number, gateways: readonly number[]): string {
  const given = readFileSync(new URL('../../deploy/front/Caddyfile', import.meta.url), 'utf8');
  return given
    .replace(/^:8080 \{$/m, `:${port} {\n\tbind 127.0.0.1`)
    .replace(/dynamic a \{[^}]+\}/, `to ${gateways.map((gateway) => `127.0.0.1:${gateway}`).join(' ')}`);
}

interface Wanted {
  /** Of the folder in the cache. */
  name: string;
  module: string;
  /** The program's name in its image, and its folder in the module. */
  packages: Record<string, string>;
  version: string;
  progress: Progress;
  /** A file of the module that the program reads. */
  keep?: string;
}

async function findBuilt(wanted: Wanted): Promise<string> {
  const { env } = process;
  const folder = join(dirname(temporalCache(env)), `${wanted.name}-${wanted.version}`);
  const paths = Object.keys(wanted.packages).map((name) => join(folder, name));
  const isThere = () => paths.every((path) => isExecutable(path));
  if (isThere()) return folder;
  mkdirSync(folder, { recursive: true });
  const held = await lock(join(folder, 'build.lock'));
  try {
    if (!isThere()) {
      const { progress } = wanted;
      await withGo({ target: join(folder, 'new'), env, progress }, (go) => install(go, folder, wanted));
    }
    return folder;
  } finally {
    held.release();
  }
}

async function install(go: string, folder: string, wanted: Wanted): Promise<void> {
  const { name, module, packages, version, progress, keep } = wanted;
  const fresh = join(folder, 'new');
  const env = {
    ...process.env,
    HOME: process.env['HOME'] || homedir(),
    GOBIN: fresh,
    CGO_ENABLED: '0',
    GO111MODULE: 'on',
    GOWORK: 'off',
  };
  const all = Object.values(packages).map((path) => `${module}/${path}@v${version}`);
  const args = ['install', '-trimpath', '-ldflags=-s -w'];
  const run = async (words: string[]) => {
    const { code, stdout, tail } = await runHosted({ command: go, args: words, env });
    if (code !== 0) throw new Error(`go ${words[0]} failed (${tail.at(-1) ?? `exit code ${code}`})`);
    return stdout;
  };
  await progress.during(`building ${name} of production, once`, run([...args, ...all]));
  if (keep !== undefined) {
    const [modules = ''] = await run(['env', 'GOMODCACHE']);
    mkdirSync(dirname(join(folder, keep)), { recursive: true });
    copyFileSync(join(modules, `${module}@v${version}`, keep), join(folder, keep));
  }
  for (const [program, path] of Object.entries(packages))
    renameSync(join(fresh, path.slice(path.lastIndexOf('/') + 1)), join(folder, program));
  rmSync(fresh, { recursive: true });
}
