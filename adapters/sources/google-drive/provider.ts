import { cleanText } from '#domain/foundation/kernel/clean-text.ts';
import {
  SourceFailure,
  type FetchInput,
  type Fetched,
  type ListedDocument,
  type ListInput,
  type Source,
  type SourcePage,
} from '#domain/knowledge/connectors/source.ts';
import { defineProvider, type SourceAccess } from '../provider.ts';
import { nextPlace, placeOf, type PagePlace } from '../shared/page-place.ts';
import { webEndpoint } from '../shared/web-url.ts';
import { googleDriveConnection } from './connection.ts';
import { DriveClient } from './drive-client.ts';
import { FileRefused, isTooLarge } from './failure.ts';
import { isDocument, versionOf } from './formats.ts';
import { changesSince, readState, toCheckpoint, type ListingState } from './listing-state.ts';
import { googleDriveScope, isInScope, type GoogleDriveScope } from './scope.ts';
import type { DriveFile } from './wire.ts';

export const googleDriveProvider = defineProvider<GoogleDriveScope>({
  slug: 'google_drive',
  title: 'Google Drive',
  description: 'Reads the files of an account or of a shared drive of Google Drive, with who may read them.',
  beta: true,
  scope: googleDriveScope,
  credentialKinds: ['bearer', 'oauth2_client'],
  credentialRequired: true,
  connection: googleDriveConnection,
  detects: { changes: 'listing', deletions: 'source', readers: true, push: false },
  endpoint: ({ api_url: url }) => webEndpoint(url),
  open: (scope, access) => new GoogleDriveSource(scope, access),
});

/** Files whose permissions are asked for at once. */
const atOnce = 5;

class GoogleDriveSource implements Source {
  readonly #scope: GoogleDriveScope;
  readonly #client: DriveClient;

  constructor(scope: GoogleDriveScope, access: SourceAccess) {
    this.#scope = scope;
    this.#client = new DriveClient(scope, access);
  }

  async check(signal: AbortSignal): Promise<void> {
    await this.#client.startToken(signal);
  }

  async list({ cursor, checkpoint }: ListInput, signal: AbortSignal): Promise<SourcePage> {
    const place = placeOf(cursor);
    if (place.at !== null) {
      const state = readState(place.at);
      return state.start === null
        ? this.#changes(place, state, signal)
        : this.#everything(place, { ...state, start: state.start }, signal);
    }
    const since = changesSince(checkpoint, this.#scope.relist_hours);
    if (since !== null) {
      try {
        return await this.#changes(place, since, signal);
      } catch (error) {
        // No page of this listing is stored yet: it may become a listing of everything.
        if (!(error instanceof SourceFailure && error.code === 'cursor_expired')) {
          throw error;
        }
      }
    }
    // Changes are asked for from before the first page on: nothing that changes meanwhile is missed.
    const begun = { whole: Date.now(), start: await this.#client.startToken(signal), token: null };
    return this.#everything(place, begun, signal);
  }

  async fetch(asked: FetchInput, signal: AbortSignal): Promise<Fetched> {
    try {
      return await this.#fetch(asked, signal);
    } catch (error) {
      if (isTooLarge(error)) {
        return { kind: 'skipped', code: 'too_large' };
      }
      if (error instanceof FileRefused) {
        return { kind: 'skipped', code: 'forbidden_by_source' };
      }
      throw error;
    }
  }

  async #fetch({ ref, version, maxBytes }: FetchInput, signal: AbortSignal): Promise<Fetched> {
    const found = await this.#client.file(ref, signal);
    if (found === null || !this.#isListed(found)) {
      return { kind: 'gone' };
    }
    const current = versionOf(found);
    if (current !== null && current === version) {
      return { kind: 'unchanged' };
    }
    if (Number(found.size ?? 0) > maxBytes) {
      return { kind: 'skipped', code: 'too_large' };
    }
    const answer = await this.#client.content(found, maxBytes, signal);
    return answer === null ? { kind: 'gone' } : { kind: 'content', ...answer, version: current };
  }

  async exists(ref: string, signal: AbortSignal): Promise<boolean> {
    try {
      const found = await this.#client.file(ref, signal);
      return found !== null && this.#isListed(found);
    } catch (error) {
      // It is there, since it is refused: what is gone is not found.
      if (error instanceof FileRefused) {
        return true;
      }
      throw error;
    }
  }

  #isListed(file: DriveFile): boolean {
    return isDocument(file) && isInScope(file, this.#scope);
  }

  async #everything(
    place: PagePlace,
    state: ListingState & { start: string },
    signal: AbortSignal,
  ): Promise<SourcePage> {
    const page = await this.#client.files(state.token, signal);
    const found = page.files.filter((file) => this.#isListed(file));
    const { nextPageToken: token } = page;
    const next = token === undefined ? null : JSON.stringify({ ...state, token });
    const { take, ...end } = nextPlace(place, { count: found.length, next, max: this.#scope.max_documents });
    const isCut = end.truncated === true || page.incompleteSearch === true;
    const { whole, start } = state;
    return {
      documents: await this.#documents(found.slice(0, take), signal),
      gone: [],
      checkpoint: end.next === null && !isCut ? toCheckpoint({ whole, token: start }) : null,
      total: null,
      scope: 'everything',
      ...end,
      ...(isCut && { truncated: true }),
    };
  }

  /** @throws SourceFailure `cursor_expired` also where a shared drive itself has changed */
  async #changes(place: PagePlace, state: ListingState, signal: AbortSignal): Promise<SourcePage> {
    const page = await this.#client.changes(state.token ?? '', signal);
    // Of several changes of a file the last counts.
    const last = new Map<string, DriveFile | null>();
    for (const { changeType = 'file', fileId, removed, file } of page.changes) {
      if (changeType !== 'file') {
        // Its members or their rights, for all its files, of which the log of changes then names none.
        throw new SourceFailure('cursor_expired', 'A shared drive has changed.');
      }
      if (fileId !== undefined) {
        last.delete(fileId);
        last.set(fileId, removed === true || file === undefined || !this.#isListed(file) ? null : file);
      }
    }
    const { nextPageToken: token = null, newStartPageToken: start = null } = page;
    if (token === null && start === null) {
      throw new SourceFailure('source_invalid', 'Google Drive does not say where changes go on.');
    }
    const found = [...last.values()].filter((file) => file !== null);
    const next = token === null ? null : JSON.stringify({ ...state, token });
    const { take, ...end } = nextPlace(place, { count: found.length, next, max: this.#scope.max_documents });
    const isComplete = end.next === null && end.truncated !== true && start !== null;
    return {
      documents: await this.#documents(found.slice(0, take), signal),
      gone: [...last].flatMap(([id, file]) => (file === null ? [id] : [])),
      checkpoint: isComplete ? toCheckpoint({ whole: state.whole, token: start }) : null,
      total: null,
      scope: 'changes',
      ...end,
    };
  }

  async #documents(files: readonly DriveFile[], signal: AbortSignal): Promise<ListedDocument[]> {
    const documents: ListedDocument[] = [];
    for (let at = 0; at < files.length; at += atOnce) {
      const some = files.slice(at, at + atOnce);
      documents.push(...(await Promise.all(some.map((file) => this.#document(file, signal)))));
    }
    return documents;
  }

  async #document(file: DriveFile, signal: AbortSignal): Promise<ListedDocument> {
    const { id, name, mimeType, size, webViewLink: link } = file;
    return {
      ref: id,
      name: cleanText(name.slice(0, 500)),
      version: versionOf(file),
      byteSize: size === undefined ? null : Number(size),
      mediaType: mimeType,
      url: link !== undefined && /^https?:\/\//.test(link) ? link : null,
      ...(this.#scope.readers && { readers: await this.#client.readers(file, signal) }),
    };
  }
}
