import { filesystemProvider } from './filesystem/provider.ts';
import type { SourceProvider } from './provider.ts';

/** Every provider, in the order in which people see them. */
export const providers: readonly SourceProvider[] = [filesystemProvider];
