import type { Dialects } from '../authorization/dialect.ts';
import type { SourceProvider } from './provider.ts';
import { providers as allProviders } from './providers.ts';

/** How the authorization servers of the providers differ from the standards. */
export function sourceDialects(providers: readonly SourceProvider[] = allProviders): Dialects {
  return new Map(
    providers.flatMap(({ slug, connection }) =>
      connection?.dialect === undefined ? [] : [[slug, connection.dialect] as const],
    ),
  );
}
