import { startFilesystemServer } from '#test/support/sources/filesystem-server.ts';
import { hasDovecot, startImapServer } from '#test/support/sources/imap-server.ts';
import { mcpUri, startMcpSource } from '#test/support/sources/mcp-server.ts';
import { startPostgresServer } from '#test/support/sources/postgres-server.ts';
import { startRssServer } from '#test/support/sources/rss-server.ts';
import { startWebServer, type WebServer } from '#test/support/sources/web-server.ts';
import { describeRuns } from '#test/support/sources/whole-runs.ts';

describeRuns([
  { title: 'filesystem', missing: null, start: () => startFilesystemServer(), awayAfter: 0 },
  {
    title: 'postgres',
    missing: null,
    start: () => startPostgresServer(),
    nameOf: (key) => `${key.replaceAll('/', '-')}.md`,
    awayAfter: 0,
    idleRequests: 40,
  },
  {
    title: 'imap',
    missing: hasDovecot() ? null : 'there is no dovecot-imapd',
    start: () => startImapServer(),
    nameOf: (subject) => `INBOX/${subject.replaceAll('/', '-')}.eml`,
    refOf: null,
    replaces: true,
    awayAfter: 0,
    idleRequests: 20,
  },
  {
    title: 'rss',
    missing: null,
    start: () => startRssServer(),
    nameOf: (title) => `News/${title.replaceAll(/\s+/g, ' ').replaceAll('/', '\u2215')}.html`,
    refOf: null,
    neverDeletes: true,
    awayAfter: 0,
  },
  {
    title: 'mcp',
    missing: null,
    start: () => startMcpSource(),
    refOf: mcpUri,
    idleRequests: 12,
  },
  {
    title: 'web',
    missing: null,
    start: () => startWebServer(),
    refOf: (name, server) => (server as WebServer).address(name),
    // A conditional request for each page.
    idleRequests: 26 + 9,
  },
]);
