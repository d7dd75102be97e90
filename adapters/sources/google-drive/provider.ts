import { z } from 'zod';
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
import { TooLong } from '../shared/json-api.ts';
import { nextPlace, placeOf, type PagePlace } from '../shared/page-place.ts';
import { parseState } from '../shared/stored-text.ts';
import { webEndpoint } from '../shared/web-url.ts';
import { googleDriveConnection } from './connection.ts';
import { DriveClient } from './drive-client.ts';
import { FileRefused } from './failure.ts';
import { exportType, isDocument, versionOf } from './formats.ts';
import { googleDriveScope, type GoogleDriveScope } from './scope.ts';
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

/** Of a listing of everything: the token from which changes are asked for afterwards, and that of the page. */
const wholePlace = z.tuple([z.string(), z.string()]);
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
    return checkpoint === null ? this.#everything(place, signal) : this.#changes(place, checkpoint, signal);
  }

  async fetch({ ref, version, maxBytes }: FetchInput, signal: AbortSignal): Promise<Fetched> {
    const found = await this.#client.file(ref, signal);
    if (found === null || !isDocument(found)) {
      return { kind: 'gone' };
    }
    const current = versionOf(found);
    if (current !== null && current === version) {
      return { kind: 'unchanged' };
    }
    if (Number(found.size ?? 0) > maxBytes) {
      return { kind: 'skipped', code: 'too_large' };
    }
    try {
      const answer = await this.#client.content(found, maxBytes, signal);
      const mediaType = exportType(found.mimeType) ?? found.mimeType;
      return answer === null
        ? { kind: 'gone' }
        : { kind: 'content', content: answer.content, mediaType, version: current };
    } catch (error) {
      if (error instanceof TooLong || (error instanceof FileRefused && error.isTooLarge)) {
        return { kind: 'skipped', code: 'too_large' };
      }
      if (error instanceof FileRefused) {
        return { kind: 'skipped', code: 'forbidden_by_source' };
      }
      throw error;
    }
  }

  async exists(ref: string, signal: AbortSignal): Promise<boolean> {
    const found = await this.#client.file(ref, signal);
    const { shared_drive_id: drive } = this.#scope;
    return found !== null && isDocument(found) && (drive === undefined || found.driveId === drive);
  }

  /** Changes are asked for from before the first page on: nothing that changes meanwhile is missed. */
  async #everything(place: PagePlace, signal: AbortSignal): Promise<SourcePage> {
    const [start, token] =
      place.at === null ? [await this.#client.startToken(signal), null] : parseState(wholePlace, place.at);
    const page = await this.#client.files(token, signal);
    const found = page.files.filter(isDocument);
    const next = page.nextPageToken === undefined ? null : JSON.stringify([start, page.nextPageToken]);
    const { take, ...end } = nextPlace(place, { count: found.length, next, max: this.#scope.max_documents });
    const isCut = end.truncated === true || page.incompleteSearch === true;
    return {
      documents: await this.#documents(found.slice(0, take), signal),
      gone: [],
      checkpoint: end.next === null && !isCut ? start : null,
      total: null,
      scope: 'everything',
      ...end,
      ...(isCut && { truncated: true }),
    };
  }

  async #changes(place: PagePlace, checkpoint: string, signal: AbortSignal): Promise<SourcePage> {
    const page = await this.#client.changes(place.at ?? checkpoint, signal);
    // Of several changes of a file the last counts.
    const last = new Map<string, DriveFile | null>();
    for (const { changeType = 'file', fileId, removed, file } of page.changes) {
      if (changeType === 'file' && fileId !== undefined) {
        last.delete(fileId);
        last.set(fileId, removed === true || file === undefined || !isDocument(file) ? null : file);
      }
    }
    const { nextPageToken: next = null, newStartPageToken: start = null } = page;
    if (next === null && start === null) {
      throw new SourceFailure('source_invalid', 'Google Drive does not say where changes go on.');
    }
    const found = [...last.values()].filter((file) => file !== null);
    const { take, ...end } = nextPlace(place, { count: found.length, next, max: this.#scope.max_documents });
    return {
      documents: await this.#documents(found.slice(0, take), signal),
      gone: [...last].flatMap(([id, file]) => (file === null ? [id] : [])),
      checkpoint: end.next === null && end.truncated !== true ? start : null,
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
