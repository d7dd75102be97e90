import { confluenceProvider } from './confluence/provider.ts';
import { githubProvider } from './github/provider.ts';
import { googleDriveProvider } from './google-drive/provider.ts';
import { mcpProvider } from './mcp/provider.ts';
import type { SourceProvider } from './provider.ts';
import { slackProvider } from './slack/provider.ts';

/** Every provider, in the order in which people see them. */
export const providers: readonly SourceProvider[] = [
  mcpProvider,
  confluenceProvider,
  githubProvider,
  googleDriveProvider,
  slackProvider,
];
