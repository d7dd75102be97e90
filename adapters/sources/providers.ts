import { confluenceProvider } from './confluence/provider.ts';
import { filesystemProvider } from './filesystem/provider.ts';
import { gitProvider } from './git/provider.ts';
import { githubProvider } from './github/provider.ts';
import { gitlabProvider } from './gitlab/provider.ts';
import { googleDriveProvider } from './google-drive/provider.ts';
import { imapProvider } from './imap/provider.ts';
import { jiraProvider } from './jira/provider.ts';
import { mcpProvider } from './mcp/provider.ts';
import { notionProvider } from './notion/provider.ts';
import { postgresProvider } from './postgres/provider.ts';
import type { SourceProvider } from './provider.ts';
import { rssProvider } from './rss/provider.ts';
import { s3Provider } from './s3/provider.ts';
import { sharepointProvider } from './sharepoint/provider.ts';
import { slackProvider } from './slack/provider.ts';
import { webProvider } from './web/provider.ts';
import { webdavProvider } from './webdav/provider.ts';

/** Every provider, in the order in which people see them. */
export const providers: readonly SourceProvider[] = [
  webProvider,
  gitProvider,
  s3Provider,
  webdavProvider,
  rssProvider,
  imapProvider,
  postgresProvider,
  mcpProvider,
  filesystemProvider,
  confluenceProvider,
  jiraProvider,
  githubProvider,
  gitlabProvider,
  googleDriveProvider,
  sharepointProvider,
  notionProvider,
  slackProvider,
];
