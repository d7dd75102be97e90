import { imapProvider } from './imap/provider.ts';
import { postgresProvider } from './postgres/provider.ts';
import type { SourceProvider } from './provider.ts';
import { s3Provider } from './s3/provider.ts';

/** Every provider, in the order in which people see them. */
export const providers: readonly SourceProvider[] = [
  // oxfmt-keep
  s3Provider,
  postgresProvider,
  imapProvider,
];
