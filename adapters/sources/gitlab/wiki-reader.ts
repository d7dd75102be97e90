import { sha256 } from '#domain/foundation/kernel/canonical-json.ts';
import type { FetchInput, Fetched } from '#domain/knowledge/connectors/source.ts';
import { TooLong } from '../shared/json-api.ts';
import { wikiDocument, wikiMediaType, wikiText } from './document.ts';
import type { KindPage, KindReader } from './kind-reader.ts';
import type { ListingState } from './listing-state.ts';
import type { ProjectApi } from './project-api.ts';
import type { GitlabScope } from './scope.ts';
import type { WikiPage } from './wire.ts';

const pageSize = 100;

/** The pages of the wiki. GitLab lists all of them in one response, without their content or the time of a change. */
export class WikiReader implements KindReader {
  readonly #scope: GitlabScope;
  readonly #api: ProjectApi;

  constructor(scope: GitlabScope, api: ProjectApi) {
    this.#scope = scope;
    this.#api = api;
  }

  check(signal: AbortSignal): Promise<unknown> {
    return this.#api.wikiPages(signal);
  }

  /** In the order of their addresses: what follows the last page of the part before. */
  async page({ paging }: ListingState, signal: AbortSignal): Promise<KindPage> {
    const { value, headers } = await this.#api.wikiPages(signal);
    const following = value
      .filter(({ slug }) => isAddressable(slug) && (paging === null || slug > paging))
      .sort((a, b) => (a.slug < b.slug ? -1 : 1));
    const part = following.slice(0, pageSize);
    return {
      documents: part.map((entry) => wikiDocument(entry, this.#scope)),
      gone: [],
      paging: following.length > part.length ? (part.at(-1)?.slug ?? null) : null,
      headers,
    };
  }

  async fetch(
    id: string,
    { version, maxBytes }: Pick<FetchInput, 'version' | 'maxBytes'>,
    signal: AbortSignal,
  ): Promise<Fetched> {
    const found = await this.#find(id, maxBytes, signal);
    if (found === null) {
      return { kind: 'gone' };
    }
    const content = found === 'too_long' ? null : wikiText(found);
    if (found === 'too_long' || content === null || content.byteLength > maxBytes) {
      return { kind: 'skipped', code: 'too_large' };
    }
    const current = sha256(content.toString());
    return current === version
      ? { kind: 'unchanged' }
      : { kind: 'content', content, mediaType: wikiMediaType(found.format), version: current };
  }

  async exists(id: string, signal: AbortSignal): Promise<boolean> {
    return (await this.#find(id, 0, signal)) !== null;
  }

  async #find(slug: string, maxBytes: number, signal: AbortSignal): Promise<WikiPage | 'too_long' | null> {
    try {
      return isAddressable(slug) ? await this.#api.wikiPage(slug, maxBytes, signal) : null;
    } catch (error) {
      if (error instanceof TooLong) {
        return 'too_long';
      }
      throw error;
    }
  }
}

/** Neither a step within a path nor half of a character, for which no address can be made. */
function isAddressable(slug: string): boolean {
  return slug !== '.' && slug !== '..' && slug.isWellFormed();
}
