import type { Fetched } from '#domain/knowledge/connectors/source.ts';
import type { Site } from './site.ts';
import type { WebAnswer } from './web-client.ts';

type Answer = Extract<WebAnswer, { kind: 'answer' }>;

/**
 * What `fetch` says of a page that answers at another address; null: the answer is the page's own. A redirect for the
 * time being may lead to a page for signing in, which must not take the place of the document.
 * @param isListed whether the listing has the page of an address
 */
export function movedPage(
  ref: string,
  { response, address, moved, detoured }: Answer,
  { site, isListed }: { site: Site; isListed: (address: string) => boolean },
): Fetched | null {
  // Also where the content is that of the version which the request names.
  if (address === ref || !(response.ok || response.status === 304)) {
    return null;
  }
  if (detoured || !site.accepts(address)) {
    return { kind: 'skipped', code: 'forbidden_by_source' };
  }
  return moved && isListed(address) ? { kind: 'gone' } : null;
}
