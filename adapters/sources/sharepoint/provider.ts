import {
  SourceFailure,
  type FetchInput,
  type Fetched,
  type ListInput,
  type Source,
  type SourcePage,
} from '#domain/knowledge/connectors/source.ts';
import { defineProvider, type SourceAccess } from '../provider.ts';
import { nextPlace, placeOf, type PagePlace } from '../shared/page-place.ts';
import { fileFilter } from '../shared/path-patterns.ts';
import { webEndpoint } from '../shared/web-url.ts';
import { sharepointConnection } from './connection.ts';
import { parseRef, versionOf } from './document.ts';
import { download } from './download.ts';
import { contentAddress, GraphClient } from './graph-client.ts';
import { expectNoLibrary, findLibraries } from './libraries.ts';
import { Library } from './library.ts';
import { beginState, endOf, keyOf, maxStateLength, readState, type ListingState } from './listing-state.ts';
import { sharepointScope, type SharepointScope } from './scope.ts';

export const sharepointProvider = defineProvider<SharepointScope>({
  slug: 'sharepoint',
  title: 'SharePoint and OneDrive',
  description: 'Reads the files of document libraries of a SharePoint site, or of the OneDrive of a person.',
  beta: true,
  scope: sharepointScope,
  credentialKinds: ['oauth2_client', 'bearer'],
  credentialRequired: true,
  connection: sharepointConnection,
  detects: { changes: 'listing', deletions: 'source', readers: false, push: false },
  endpoint: ({ api_url: url }) => webEndpoint(url),
  open: (scope, access) => new SharepointSource(scope, access),
});

class SharepointSource implements Source {
  /** The first page finds the libraries as `check` does. */
  readonly isCheckedByListing = true;
  readonly #scope: SharepointScope;
  readonly #access: SourceAccess;
  readonly #client: GraphClient;
  #found: readonly Library[] | null = null;

  constructor(scope: SharepointScope, access: SourceAccess) {
    this.#scope = scope;
    this.#access = access;
    this.#client = new GraphClient(scope, access);
  }

  async check(signal: AbortSignal): Promise<void> {
    await findLibraries(this.#client, this.#scope, signal);
  }

  async list({ cursor, checkpoint }: ListInput, signal: AbortSignal): Promise<SourcePage> {
    const place = placeOf(cursor);
    if (place.at !== null) {
      return this.#page(place, readState(place.at, await this.#key(signal)), signal);
    }
    this.#found = null;
    const key = await this.#key(signal);
    const count = (await this.#libraries(signal)).length;
    const state = beginState(checkpoint, { key, count, relistHours: this.#scope.relist_hours });
    try {
      return await this.#page(place, state, signal);
    } catch (error) {
      const isExpired = error instanceof SourceFailure && error.code === 'cursor_expired';
      if (!isExpired || state.before === null) {
        throw error;
      }
      // No page of this listing is stored yet: it may become a listing of everything.
      const again = beginState(null, { key, count, relistHours: this.#scope.relist_hours });
      return this.#page(place, again, signal);
    }
  }

  async fetch({ ref, version, mediaType, maxBytes }: FetchInput, signal: AbortSignal): Promise<Fetched> {
    const found = await this.#find(ref, signal);
    if (found === null) {
      return { kind: 'gone' };
    }
    const current = versionOf(found.item);
    if (current !== null && current === version) {
      return { kind: 'unchanged' };
    }
    if ((found.item.size ?? 0) > maxBytes) {
      return { kind: 'skipped', code: 'too_large' };
    }
    const address = contentAddress(this.#scope.api_url, found.driveId, found.item.id);
    const answer = await download(this.#access, address, { maxBytes, signal });
    if (answer.kind === 'content') {
      const declared = found.item.file?.mimeType ?? mediaType ?? answer.mediaType;
      return { kind: 'content', content: answer.content, mediaType: declared, version: current };
    }
    if (answer.kind === 'refused') {
      await this.#client.confirm(found.driveId, signal);
      // A policy for downloads is lifted without a change of the file.
      return { kind: 'skipped', code: 'forbidden_by_source' };
    }
    return answer.kind === 'gone' ? { kind: 'gone' } : { kind: 'skipped', code: 'too_large' };
  }

  async exists(ref: string, signal: AbortSignal): Promise<boolean> {
    return (await this.#find(ref, signal)) !== null;
  }

  async #page(place: PagePlace, state: ListingState, signal: AbortSignal): Promise<SourcePage> {
    const libraries = await this.#libraries(signal);
    const library = libraries[state.at];
    if (library === undefined) {
      throw new SourceFailure('cursor_expired', 'The listing has to begin again.');
    }
    const since = state.before?.ended ?? null;
    const page = await library.page({ link: state.links[state.at] ?? null, since }, signal);
    const following: ListingState = {
      ...state,
      began: state.began || page.times.earlier,
      at: state.at + (page.isLast ? 1 : 0),
      links: state.links.with(state.at, page.link),
    };
    const { take, ...end } = nextPlace(place, {
      count: page.documents.length,
      next: following.at === libraries.length ? null : JSON.stringify(following),
      max: this.#scope.max_documents,
      maxLength: maxStateLength,
    });
    const isComplete = end.next === null && end.truncated !== true;
    return {
      documents: page.documents.slice(0, take),
      gone: page.gone,
      checkpoint: isComplete ? endOf(following, page.times.later) : null,
      total: null,
      scope: state.before === null ? 'everything' : 'changes',
      ...end,
    };
  }

  async #find(ref: string, signal: AbortSignal) {
    const parsed = parseRef(ref);
    if (parsed === null) {
      return null;
    }
    const { driveId, id } = parsed;
    const library = (await this.#libraries(signal)).find(({ drive }) => drive.id === driveId);
    if (library === undefined) {
      await expectNoLibrary(this.#client, this.#scope, driveId, signal);
      return null;
    }
    const item = await library.find(id, signal);
    return item === null ? null : { driveId, item };
  }

  async #key(signal: AbortSignal): Promise<string> {
    const drives = (await this.#libraries(signal)).map(({ drive }) => drive);
    return keyOf(this.#scope, drives);
  }

  async #libraries(signal: AbortSignal): Promise<readonly Library[]> {
    if (this.#found === null) {
      const accepts = fileFilter(this.#scope);
      const drives = await findLibraries(this.#client, this.#scope, signal);
      this.#found = drives.map((drive) => new Library(this.#client, drive, accepts));
    }
    return this.#found;
  }
}
