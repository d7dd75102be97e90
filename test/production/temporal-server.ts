import { mkdirSync, renameSync, rmSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { withGo } from '../../bin/launcher/build-temporal.ts';
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

const packages = { 'temporal-server': 'cmd/server', 'temporal-sql-tool': 'cmd/tools/sql' };

/** Builds the server and its schema tool once on a machine, at the version of the image in the compose file. */
export async function findTemporalServer(version: string, progress: Progress): Promise<TemporalPrograms> {
  const { env } = process;
  const folder = join(dirname(temporalCache(env)), `temporal-server-${version}`);
  const found = { server: join(folder, 'temporal-server'), folder };
  const paths = Object.keys(packages).map((name) => join(folder, name));
  if (paths.every((path) => isExecutable(path))) return found;
  mkdirSync(folder, { recursive: true });
  const held = await lock(join(folder, 'build.lock'));
  try {
    if (paths.every((path) => isExecutable(path))) return found;
    await withGo({ target: join(folder, 'new'), env, progress }, (go) =>
      install(go, { folder, version, progress }),
    );
    return found;
  } finally {
    held.release();
  }
}

interface Install {
  folder: string;
  version: string;
  progress: Progress;
}

async function install(go: string, { folder, version, progress }: Install): Promise<void> {
  const { env } = process;
  const fresh = join(folder, 'new');
  const wanted = Object.values(packages).map((path) => `go.temporal.io/server/${path}@v${version}`);
  const work = runHosted({
    command: go,
    args: ['install', '-trimpath', '-ldflags=-s -w', ...wanted],
    env: {
      ...env,
      HOME: env['HOME'] || homedir(),
      GOBIN: fresh,
      CGO_ENABLED: '0',
      GO111MODULE: 'on',
      GOWORK: 'off',
    },
  });
  const { code, tail } = await progress.during('building the Temporal server of production, once', work);
  if (code !== 0) throw new Error(`go install failed (${tail.at(-1) ?? `exit code ${code}`})`);
  for (const [name, path] of Object.entries(packages))
    renameSync(join(fresh, path.slice(path.lastIndexOf('/') + 1)), join(folder, name));
  rmSync(fresh, { recursive: true });
}
