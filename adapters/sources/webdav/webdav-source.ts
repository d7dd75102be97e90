import { LRUCache } from 'lru-cache';
import {
  SourceFailure,
  type Fetched,
  type FetchInput,
  type ListInput,
  type Source,
  type SourcePage,
} from '#domain/knowledge/connectors/source.ts';
import { asSourceFailures, Forbidden, statusFailure } from '../shared/http-failure.ts';
import { folderFilter, fileFilter } from '../shared/path-patterns.ts';
import { discardBody, readBody } from '../shared/bounded-body.ts';
import type { DavClient } from './dav-client.ts';
import { etagOf, listingOf, type FolderListing } from './folder-listing.ts';
import type { WebdavScope } from './scope.ts';
import { parsePosition, walkOn } from './walk.ts';

/** Names in the listings that are kept during a walk: those of the folders above are read again and again. */
const maxKeptNames = 100_000;

/** The files below a folder. Folders are listed one by one: many servers refuse a list of a whole tree. */
export class WebdavSource implements Source {
  readonly #client: DavClient;
  readonly #root: string;
  readonly #lists: (path: string) => boolean;
  readonly #enters: (path: string) => boolean;
  readonly #kept = new LRUCache<string, FolderListing>({
    maxSize: maxKeptNames,
    sizeCalculation: ({ files, folders }) => 1 + files.length + folders.length,
  });

  constructor(client: DavClient, scope: WebdavScope) {
    this.#client = client;
    this.#root = scope.path;
    this.#lists = fileFilter(scope);
    this.#enters = folderFilter(scope);
  }

  check(signal: AbortSignal): Promise<void> {
    return asSourceFailures(signal, async () => {
      const found = await this.#client.folder(this.#root, 0, signal);
      if (found === null || listingOf(found) === null) throw noFolder();
    });
  }

  list({ cursor }: ListInput, signal: AbortSignal): Promise<SourcePage> {
    return asSourceFailures(signal, async () => {
      if (cursor === null) this.#kept.clear();
      const { files, next, truncated } = await walkOn(cursor === null ? null : parsePosition(cursor), {
        root: this.#root,
        read: (folder) => this.#folder(folder, signal),
        enters: (folder) => this.#enters(this.#below(folder)),
        lists: (ref) => this.#lists(this.#below(ref)),
      });
      return {
        documents: files.map(({ ref, file: { version, byteSize, mediaType } }) => ({
          ref,
          name: ref,
          version,
          byteSize,
          mediaType,
          url: this.#client.address(ref),
        })),
        gone: [],
        next,
        checkpoint: null,
        total: null,
        scope: 'everything',
        truncated,
      };
    });
  }

  fetch({ ref, version, mediaType, maxBytes }: FetchInput, signal: AbortSignal): Promise<Fetched> {
    return asSourceFailures<Fetched>(signal, async () => {
      if (!this.#isInScope(ref)) return { kind: 'gone' };
      const { response, url } = await this.#client.content(ref, etagOf(version), signal);
      const type = response.headers.get('content-type');
      const isPage = type?.startsWith('text/html') === true && mediaType?.startsWith('text/html') !== true;
      if (response.status === 200 && !url.endsWith('/') && (url === this.#client.address(ref) || !isPage)) {
        const content = await readBody(response, maxBytes);
        return content === null
          ? { kind: 'skipped', code: 'too_large' }
          : { kind: 'content', content, mediaType: type, version: null };
      }
      await discardBody(response);
      switch (response.status) {
        case 304:
          return { kind: 'unchanged' };
        case 404:
        case 410:
          return { kind: 'gone' };
        case 403:
          return { kind: 'skipped', code: 'forbidden_by_source' };
        case 405:
          return { kind: 'skipped', code: 'not_a_document' };
        case 200:
          // A folder that has taken the file's place, or a page for signing in.
          if (url.endsWith('/')) return { kind: 'skipped', code: 'not_a_document' };
          throw new SourceFailure('auth_failed', 'The source answers with a page in place of the file.');
        default:
          throw response.status >= 400
            ? statusFailure(response)
            : new SourceFailure('source_invalid', `The source answers HTTP ${response.status}.`);
      }
    });
  }

  exists(ref: string, signal: AbortSignal): Promise<boolean> {
    return asSourceFailures(signal, async () => {
      if (!this.#isInScope(ref)) return false;
      try {
        const found = await this.#client.file(ref, signal);
        return found !== null && found.responses.some(({ isFolder, status }) => !isFolder && status < 300);
      } catch (error) {
        // What may not be read any more is not known to be deleted.
        if (error instanceof Forbidden) return true;
        throw error;
      }
    });
  }

  /** A path from the folder of the scope. */
  #below(path: string): string {
    return this.#root === '' ? path : path.slice(this.#root.length + 1);
  }

  /** Whether a walk would come to it, and list it. */
  #isInScope(ref: string): boolean {
    if (this.#root !== '' && !ref.startsWith(`${this.#root}/`)) return false;
    const names = this.#below(ref).split('/');
    const folders = names.slice(1).map((_, at) => names.slice(0, at + 1).join('/'));
    return this.#lists(names.join('/')) && folders.every((folder) => this.#enters(folder));
  }

  async #folder(folder: string, signal: AbortSignal): Promise<FolderListing | null> {
    const kept = this.#kept.get(folder);
    if (kept !== undefined) return kept;
    const isRoot = folder === this.#root;
    const found = await this.#client.folder(folder, 1, signal).catch((error: unknown) => {
      if (isRoot || !(error instanceof Forbidden)) throw error;
      return null;
    });
    const listing = found === null ? null : listingOf(found);
    if (listing === null && isRoot) throw noFolder();
    if (listing !== null) this.#kept.set(folder, listing);
    return listing;
  }
}

function noFolder(): SourceFailure {
  return new SourceFailure('scope_invalid', 'The server has no folder of this path.');
}
