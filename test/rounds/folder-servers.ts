import { dirname } from 'node:path';
import { startGitServer } from '../support/sources/git-server.ts';
import { startWebdavServer, withoutWebdav, type WebdavKind } from '../support/sources/webdav-server.ts';
import type { FolderServer } from './describe-rounds.ts';
import { moveHistory } from './git-history.ts';

const git: FolderServer = {
  title: 'git',
  missing: null,
  start: async () => {
    const server = await startGitServer();
    const folder = (await server.git('rev-parse', '--show-toplevel')).trim();
    return {
      server,
      folder,
      change: (dice) => moveHistory(server, dice),
      comparesTexts: true,
    };
  },
};

const webdav = (kind: WebdavKind): FolderServer => ({
  title: `webdav (${kind})`,
  missing: withoutWebdav(kind),
  start: async () => {
    const server = await startWebdavServer(kind);
    return {
      server,
      folder: dirname(server.pathOf('x')),
      change: () => Promise.resolve(),
      comparesTexts: false,
    };
  },
});

export const folderServers: readonly FolderServer[] = [git, webdav('apache2'), webdav('rclone')];
