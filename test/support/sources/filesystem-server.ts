import { mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { SourceServer } from './source-server.ts';

export interface FilesystemServer extends SourceServer {
  /** The root, for what a test does to it by itself. */
  folder: string;
}

/** A folder of its own as root `files`; stopped, the root is not there. */
export async function startFilesystemServer(scope: Record<string, unknown> = {}): Promise<FilesystemServer> {
  const home = await mkdtemp(join(tmpdir(), 'connector-root-'));
  const folder = join(home, 'root');
  const away = join(home, 'away');
  await mkdir(folder);
  const pathOf = async (name: string) => {
    const path = join(folder, name);
    await mkdir(dirname(path), { recursive: true });
    return path;
  };
  return {
    slug: 'filesystem',
    scopeConfig: { root: 'files', ...scope },
    credential: null,
    allowedOrigins: [],
    roots: { files: folder },
    folder,
    put: async (name, content) => writeFile(await pathOf(name), content),
    move: async (from, to) => rename(join(folder, from), await pathOf(to)),
    remove: (name) => rm(join(folder, name)),
    requests: () => 0,
    stop: () => rename(folder, away),
    start: () => rename(away, folder),
    close: () => rm(home, { recursive: true, force: true }),
  };
}
