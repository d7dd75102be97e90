import { SourceFailure, type SourceReaders } from '#domain/knowledge/connectors/source.ts';
import type { SourceAccess } from '../provider.ts';
import { JsonApi } from '../shared/json-api.ts';
import { laterPage } from '../shared/later-page.ts';
import { driveFailure, fileFailure, FileRefused, isTooLarge } from './failure.ts';
import { exportTypes } from './formats.ts';
import { withoutImages } from './images.ts';
import { toReaders } from './readers.ts';
import type { GoogleDriveScope } from './scope.ts';
import {
  changes,
  file,
  fileFields,
  files,
  permissionPageFields,
  permissions,
  plainFields,
  startToken,
  type DriveFile,
  type Permission,
} from './wire.ts';

const pageSize = 100;
const maxPermissionPages = 50;
/** The service exports 10 MB at most. */
const maxExportBytes = 12_000_000;

/** The requests to Google Drive, version 3. */
export class DriveClient {
  readonly #api: JsonApi;
  /** For what concerns one file. */
  readonly #fileApi: JsonApi;
  readonly #scope: GoogleDriveScope;
  #isConfirmed = false;

  constructor(scope: GoogleDriveScope, access: SourceAccess) {
    this.#scope = scope;
    this.#api = new JsonApi(access, { base: scope.api_url, failure: driveFailure });
    this.#fileApi = new JsonApi(access, { base: scope.api_url, failure: fileFailure });
  }

  async startToken(signal: AbortSignal): Promise<string> {
    const query = this.#query({}, 'changes');
    return (await this.#api.get(`/changes/startPageToken?${query.toString()}`, startToken, { signal }))
      .startPageToken;
  }

  files(pageToken: string | null, signal: AbortSignal) {
    const fields = `nextPageToken,incompleteSearch,files(${fileFields(this.#scope.readers)})`;
    const query = this.#query({ pageSize, fields, pageToken }, 'files');
    return laterPage(pageToken !== null, this.#api.get(`/files?${query.toString()}`, files, { signal }));
  }

  changes(pageToken: string, signal: AbortSignal) {
    const members = `changeType,removed,fileId,file(${fileFields(this.#scope.readers)})`;
    const fields = `nextPageToken,newStartPageToken,changes(${members})`;
    const query = this.#query({ pageSize, fields, pageToken, includeRemoved: 'true' }, 'changes');
    return laterPage(true, this.#api.get(`/changes?${query.toString()}`, changes, { signal }));
  }

  /** @throws FileRefused, as all that concerns one file */
  file(id: string, signal: AbortSignal): Promise<DriveFile | null> {
    const query = new URLSearchParams({ fields: plainFields, supportsAllDrives: 'true' });
    const path = `/files/${encodeURIComponent(id)}?${query.toString()}`;
    return this.#confirmed(this.#fileApi.find(path, file, { signal }), signal);
  }

  /** Its bytes or, of a file without bytes, its text. */
  async content(
    { id, mimeType }: DriveFile,
    maxBytes: number,
    signal: AbortSignal,
  ): Promise<{ content: Buffer; mediaType: string } | null> {
    const types = exportTypes(mimeType);
    if (types === null) {
      const answer = await this.#bytes(`/files/${id}?alt=media&supportsAllDrives=true`, maxBytes, signal);
      return answer === null ? null : { content: answer.content, mediaType: mimeType };
    }
    const exported = async (mediaType: string) => {
      const path = `/files/${id}/export?mimeType=${encodeURIComponent(mediaType)}`;
      const answer = await this.#bytes(path, Math.min(maxBytes, maxExportBytes), signal);
      return answer === null ? null : { content: withoutImages(answer.content), mediaType };
    };
    const [type, instead] = types;
    try {
      return await exported(type);
    } catch (error) {
      // Images count for the limit, and text alone has none.
      if (instead === undefined || !isTooLarge(error)) {
        throw error;
      }
      return exported(instead);
    }
  }

  /** Nobody, where the account may not see who they are. */
  async readers({ id, permissions: given }: DriveFile, signal: AbortSignal): Promise<SourceReaders> {
    const options = { linkIsPublic: this.#scope.link_is_public, now: Date.now() };
    if (given !== undefined) {
      return toReaders(given, options);
    }
    const found: Permission[] = [];
    let pageToken: string | null = null;
    for (let pages = 0; pages === 0 || pageToken !== null; pages += 1) {
      if (pages >= maxPermissionPages) {
        throw new SourceFailure('source_invalid', 'The permissions of a file have no end.');
      }
      const query = new URLSearchParams({
        fields: permissionPageFields,
        pageSize: '100',
        supportsAllDrives: 'true',
        ...(pageToken !== null && { pageToken }),
      });
      try {
        const path = `/files/${id}/permissions?${query.toString()}`;
        const asked = this.#fileApi.find(path, permissions, { signal });
        const page: Awaited<typeof asked> = await this.#confirmed(asked, signal);
        found.push(...(page?.permissions ?? []));
        pageToken = page?.nextPageToken ?? null;
      } catch (error) {
        if (error instanceof FileRefused) {
          return { addresses: [], groups: [] };
        }
        throw error;
      }
    }
    return toReaders(found, options);
  }

  #bytes(path: string, maxBytes: number, signal: AbortSignal) {
    const asked = this.#fileApi.bytes(path, { signal, maxBytes, headers: { accept: '*/*' } });
    return this.#confirmed(asked, signal);
  }

  /** A file that is refused says nothing of the credential: whether the service accepts it, is asked once. */
  async #confirmed<T>(asked: Promise<T>, signal: AbortSignal): Promise<T> {
    try {
      return await asked;
    } catch (error) {
      if (error instanceof FileRefused && !error.isTooLarge && !this.#isConfirmed) {
        await this.startToken(signal);
        this.#isConfirmed = true;
      }
      throw error;
    }
  }

  #query(fields: Record<string, string | number | null>, of: 'files' | 'changes'): URLSearchParams {
    const { shared_drive_id: drive } = this.#scope;
    const query = new URLSearchParams({ supportsAllDrives: 'true', includeItemsFromAllDrives: 'true' });
    for (const [name, value] of Object.entries(fields)) {
      if (value !== null) {
        query.set(name, String(value));
      }
    }
    if (of === 'files') {
      query.set('corpora', drive === undefined ? 'user' : 'drive');
      query.set('q', "trashed = false and mimeType != 'application/vnd.google-apps.folder'");
    }
    if (drive !== undefined) {
      query.set('driveId', drive);
    }
    return query;
  }
}
