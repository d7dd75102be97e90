import { startFilesystemServer } from '../support/sources/filesystem-server.ts';
import { startGitServer } from '../support/sources/git-server.ts';
import { hasDovecot, startImapServer } from '../support/sources/imap-server.ts';
import { startMcpSource } from '../support/sources/mcp-server.ts';
import { startPostgresServer } from '../support/sources/postgres-server.ts';
import { startRssServer } from '../support/sources/rss-server.ts';
import { startS3Server, withoutS3 } from '../support/sources/s3-server.ts';
import type { SourceServer } from '../support/sources/source-server.ts';
import { startWebServer } from '../support/sources/web-server.ts';
import { startWebdavServer, withoutWebdav } from '../support/sources/webdav-server.ts';

/** A provider with its real server, for runs over many documents. */
export interface LargeProvider {
  title: string;
  missing: string | null;
  start: (documents: number) => Promise<SourceServer>;
  nameOf: (name: string) => string;
  /** Documents that the server takes at the same time. */
  writers: number;
  /** Requests of a run without changes, beside one for each thousand documents. */
  idleRequests: (documents: number) => number;
  /** False: each document is asked for whether it has changed. */
  listsVersions?: false;
  /** A changed document is a new one, and the one before is deleted. */
  replaces?: boolean;
  /** What the source no longer lists stays. */
  neverDeletes?: boolean;
}

const same = (name: string): string => name;

export const largeProviders: readonly LargeProvider[] = [
  {
    title: 'filesystem',
    missing: null,
    start: () => startFilesystemServer(),
    nameOf: same,
    writers: 8,
    idleRequests: () => 0,
  },
  {
    title: 'git',
    missing: null,
    start: () => startGitServer(),
    nameOf: same,
    writers: 8,
    idleRequests: () => 9,
  },
  {
    title: 'webdav',
    missing: withoutWebdav('apache2'),
    start: () => startWebdavServer('apache2'),
    nameOf: same,
    writers: 8,
    idleRequests: () => 9,
  },
  {
    title: 's3',
    missing: await withoutS3(),
    start: () => startS3Server(),
    nameOf: same,
    writers: 8,
    idleRequests: () => 1,
  },
  {
    title: 'postgres',
    missing: null,
    start: () => startPostgresServer(),
    nameOf: (key) => `${key.replaceAll('/', '-')}.md`,
    writers: 4,
    // Three messages for each statement.
    idleRequests: (documents) => 40 + documents / 500,
  },
  {
    title: 'imap',
    missing: hasDovecot() ? null : 'there is no dovecot-imapd',
    start: () => startImapServer(),
    nameOf: (subject) => `INBOX/${subject.replaceAll('/', '-')}.eml`,
    // The server allows a user ten connections.
    writers: 4,
    idleRequests: () => 20,
    replaces: true,
  },
  {
    title: 'rss',
    missing: null,
    start: () => startRssServer(),
    nameOf: (title) => `News/${title.replaceAll('/', '\u2215')}.html`,
    writers: Infinity,
    idleRequests: () => 9,
    neverDeletes: true,
  },
  {
    title: 'mcp',
    missing: null,
    start: async () => {
      const server = await startMcpSource();
      server.page(1_000);
      return server;
    },
    nameOf: same,
    writers: 8,
    idleRequests: () => 12,
  },
  {
    title: 'web',
    missing: null,
    start: (documents) => startWebServer({ max_pages: documents + 100 }),
    nameOf: same,
    writers: 8,
    // Each page is asked for with its ETag, and each sitemap names 500.
    listsVersions: false,
    idleRequests: (documents) => documents + documents / 500 + 9,
  },
];
