import type { SourceProvider } from './provider.ts';
import { gitProvider } from './git/provider.ts';
import { webdavProvider } from './webdav/provider.ts';

/** Every provider, in the order in which people see them. */
export const providers: readonly SourceProvider[] = [gitProvider, webdavProvider];
