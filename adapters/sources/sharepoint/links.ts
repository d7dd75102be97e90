import { SourceFailure } from '#domain/knowledge/connectors/source.ts';
import { withoutSlashes } from '../shared/web-url.ts';

/**
 * What an address of the service adds to that of its interface. Tokens of pages stand in the path or in the query, in
 * several forms, so the address is taken as it is; but never to another origin, nor out of the interface.
 * @throws SourceFailure `source_invalid`
 */
export function pathBelow(apiUrl: string, link: string): string {
  const base = new URL(withoutSlashes(apiUrl));
  const url = URL.parse(link);
  const prefix = `${withoutSlashes(base.pathname)}/`;
  if (
    url === null ||
    url.origin !== base.origin ||
    url.username !== '' ||
    url.password !== '' ||
    !url.pathname.startsWith(prefix)
  ) {
    throw new SourceFailure('source_invalid', 'Microsoft Graph continues a listing at another address.');
  }
  return url.pathname.slice(prefix.length - 1) + url.search;
}
