import { filesystemProvider } from './filesystem/provider.ts';
import { rssProvider } from './rss/provider.ts';
import { webProvider } from './web/provider.ts';
import type { SourceProvider } from './provider.ts';

/** Every provider, in the order in which people see them. */
export const providers: readonly SourceProvider[] = [webProvider, rssProvider, filesystemProvider];
