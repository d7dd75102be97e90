import { createHash } from 'node:crypto';
import type { CredentialValue } from '#domain/capabilities/credentials/credential-value.ts';
import { startHttpFake } from './http-fake.ts';
import type { FakeSource } from './source-contract.ts';

interface FakeFile {
  id: string;
  name: string;
  mimeType: string;
  content: Buffer;
  version: number;
  trashed: boolean;
  driveId: string | null;
  permissions: object[] | null;
  /** The reason with which its content, or all that is asked of it, is refused. */
  refused: string | null;
  isHidden: boolean;
  /** Bytes of its images: exports as Markdown have them in base64, others have not. */
  images: number[];
}

export interface GoogleDriveServer extends FakeSource {
  files: FakeFile[];
  add(name: string, content: string, more?: Partial<FakeFile>): FakeFile;
  trash(name: string): void;
  touch(file: FakeFile): void;
  /** Shared drives of which the account is a member. */
  drives: Set<string>;
  moveToDrive(file: FakeFile, driveId: string): void;
  /** Its members, its name or its restrictions were changed; `removed` once the account is no member. */
  changeDrive(driveId: string, removed?: boolean): void;
  /** Page tokens given until now are refused with this status. */
  expire(status: 400 | 410): void;
  asked: string[];
}

const native = 'application/vnd.google-apps.';
/** The form in which Google exports images of documents. */
function withImages({ content, images }: FakeFile): Buffer {
  const defined = images.map((size, at) => {
    const base64 = Buffer.alloc(size, at).toString('base64');
    return `[image${at + 1}]: <data:image/png;base64,${base64}>`;
  });
  return images.length === 0 ? content : Buffer.from(`${content.toString()}\n\n${defined.join('\n\n')}`);
}

const anonymous = { id: 'owner', type: 'user', role: 'owner', emailAddress: 'Owner@Example.com' };

/** The parts of Google Drive, version 3, that the provider uses, in their documented form. */
export async function startGoogleDrive(): Promise<GoogleDriveServer> {
  const files: FakeFile[] = [];
  /** Of the account (null) and of each shared drive. */
  const log: ({ of: string | null; fileId?: string; driveId?: string; removed?: boolean } | null)[] = [];
  const drives = new Set(['team']);
  const asked: string[] = [];
  let token = 'first-token';
  let made = 0;
  let valid = 0;
  let expiredStatus = 400;

  const failure = (code: number, reason: string, domain = 'global') =>
    Response.json(
      {
        error: {
          code,
          message: 'What the service says.',
          errors: [{ domain, reason, message: 'What the service says.' }],
        },
      },
      { status: code },
    );
  const shown = (file: FakeFile, fields: string) => ({
    kind: 'drive#file',
    id: file.id,
    name: file.name,
    mimeType: file.mimeType,
    version: String(file.version),
    trashed: file.trashed,
    webViewLink: `https://drive.example/file/d/${file.id}/view`,
    ...(!file.mimeType.startsWith(native) && {
      size: String(file.content.byteLength),
      md5Checksum: createHash('md5').update(file.content).digest('hex'),
    }),
    ...(file.driveId !== null && { driveId: file.driveId }),
    ...(file.driveId !== null &&
      fields.includes('capabilities') && { capabilities: { canReadDrive: drives.has(file.driveId) } }),
    // Not populated for items of shared drives.
    ...(fields.includes('permissions') &&
      file.driveId === null &&
      file.permissions !== null && { permissions: file.permissions }),
  });
  const tokenOf = (at: number) => `~!!~${btoa(JSON.stringify({ at, valid }))}`;
  const placeOf = (given: string): number | null => {
    try {
      const held = JSON.parse(atob(given.slice(4))) as { at: number; valid: number };
      return held.valid === valid ? held.at : null;
    } catch {
      return null;
    }
  };

  /** Changes in a shared drive are in its own log, and in that of an account which is no member. */
  const logOf = ({ driveId }: FakeFile) => (driveId !== null && drives.has(driveId) ? driveId : null);
  const answer = (request: Request): Response => {
    const { pathname, searchParams: query } = new URL(request.url);
    asked.push(pathname);
    if (request.headers.get('authorization') !== `Bearer ${token}`) return failure(401, 'authError');
    const size = Number(query.get('pageSize') ?? 100);
    const fields = query.get('fields') ?? '';
    const drive = query.get('driveId');
    if (drive !== null && !drives.has(drive)) return failure(404, 'notFound');
    const isOfAll = query.get('includeItemsFromAllDrives') === 'true';
    if (drive !== null && !isOfAll) return failure(400, 'invalid');
    // Of shared drives the account sees what it has opened, and what is shared with it.
    const within = (file: FakeFile) =>
      drive === null ? file.driveId === null || isOfAll : file.driveId === drive;
    const pageToken = query.get('pageToken');
    switch (pathname) {
      case '/drive/v3/changes/startPageToken':
        return Response.json({ kind: 'drive#startPageToken', startPageToken: tokenOf(log.length) });
      case '/drive/v3/files': {
        const from = pageToken === null ? 0 : placeOf(pageToken);
        if (from === null) return failure(expiredStatus, 'invalid');
        if ((query.get('corpora') === 'drive') !== (drive !== null)) return failure(400, 'invalid');
        const all = files.filter(
          (file) => within(file) && !file.trashed && file.mimeType !== `${native}folder`,
        );
        const end = from + size;
        return Response.json({
          kind: 'drive#fileList',
          incompleteSearch: false,
          files: all.slice(from, end).map((file) => shown(file, fields)),
          ...(end < all.length && { nextPageToken: tokenOf(end) }),
        });
      }
      case '/drive/v3/changes': {
        const from = placeOf(pageToken ?? '');
        if (from === null) return failure(expiredStatus, 'invalid');
        const end = Math.min(from + size, log.length);
        const time = '2025-01-01T00:00:00.000Z';
        const changes = log.slice(from, end).flatMap((entry): object[] => {
          if (entry === null || entry.of !== drive) return [];
          const { fileId, driveId, removed = false } = entry;
          if (fileId === undefined) {
            const base = { kind: 'drive#change', changeType: 'drive', type: 'drive', time, driveId };
            return [{ ...base, removed, ...(!removed && { drive: { id: driveId, name: 'Team' } }) }];
          }
          const file = files.find(({ id }) => id === fileId);
          const base = { kind: 'drive#change', changeType: 'file', time, fileId };
          return file === undefined || logOf(file) !== drive
            ? [{ ...base, removed: true }]
            : [{ ...base, removed: false, file: shown(file, fields) }];
        });
        return Response.json({
          kind: 'drive#changeList',
          changes,
          ...(end < log.length ? { nextPageToken: tokenOf(end) } : { newStartPageToken: tokenOf(end) }),
        });
      }
    }
    const [, id, part] = /^\/drive\/v3\/files\/([^/]+)(?:\/(export|permissions))?$/.exec(pathname) ?? [];
    const file = files.find((each) => each.id === id);
    if (file === undefined) return failure(404, 'notFound');
    if (file.isHidden && file.refused !== null) return failure(403, file.refused);
    if (part === 'permissions') {
      if (file.permissions === null) return failure(403, 'insufficientFilePermissions');
      const from = pageToken === null ? 0 : Number(pageToken);
      return Response.json({
        permissions: file.permissions.slice(from, from + 2),
        ...(from + 2 < file.permissions.length && { nextPageToken: String(from + 2) }),
      });
    }
    if (part === undefined && query.get('alt') !== 'media') return Response.json(shown(file, fields));
    if (file.refused !== null) return failure(403, file.refused);
    if (part === 'export') {
      if (!file.mimeType.startsWith(native)) return failure(403, 'fileNotExportable');
      const to = query.get('mimeType') ?? '';
      const exported = to === 'text/markdown' ? withImages(file) : file.content;
      if (exported.byteLength > 10_000_000) return failure(403, 'exportSizeLimitExceeded');
      return new Response(new Uint8Array(exported), { headers: { 'content-type': to } });
    }
    if (file.mimeType.startsWith(native)) return failure(403, 'fileNotDownloadable');
    return new Response(new Uint8Array(file.content), { headers: { 'content-type': file.mimeType } });
  };
  const fake = await startHttpFake(answer);
  const value = (): CredentialValue => ({ kind: 'bearer', token });
  const current = (name: string) => files.find((file) => file.name === name && !file.trashed);
  const touch = (file: FakeFile) => {
    made += 1;
    file.version += 1;
    note(file.id, logOf(file));
  };
  const note = (fileId: string, of: string | null) => {
    const before = log.findIndex((entry) => entry?.fileId === fileId && entry.of === of);
    // A file stands in a log once; a place that was given keeps its number.
    if (before !== -1) log[before] = null;
    log.push({ of, fileId });
  };
  const add = (name: string, content: string, more: Partial<FakeFile> = {}): FakeFile => {
    made += 1;
    const file: FakeFile = {
      id: `1file-${made}_x`,
      name,
      mimeType: 'text/markdown',
      content: Buffer.from(content),
      version: 1,
      trashed: false,
      driveId: null,
      permissions: [anonymous],
      refused: null,
      isHidden: false,
      images: [],
      ...more,
    };
    files.push(file);
    touch(file);
    return file;
  };
  return {
    ...fake,
    slug: 'google_drive',
    scopeConfig: { api_url: `${fake.origin}/drive/v3` },
    credential: { origin: fake.origin, value: value() },
    allowedOrigins: [fake.origin],
    roots: {},
    files,
    asked,
    add,
    touch,
    drives,
    moveToDrive: (file, driveId) => {
      note(file.id, logOf(file));
      file.driveId = driveId;
      touch(file);
    },
    changeDrive: (driveId, removed = false) => {
      if (removed) drives.delete(driveId);
      for (const each of [driveId, null]) log.push({ of: each, driveId, removed });
    },
    trash: (name) => {
      const file = current(name);
      if (file !== undefined) {
        file.trashed = true;
        touch(file);
      }
    },
    expire: (status) => {
      valid += 1;
      expiredStatus = status;
    },
    put: (name, content) => {
      const file = current(name);
      if (file === undefined) add(name, '', { content: Buffer.from(content) });
      else {
        file.content = Buffer.from(content);
        touch(file);
      }
      return Promise.resolve();
    },
    move: (from, to) => {
      const file = current(from);
      if (file !== undefined) {
        file.name = to;
        touch(file);
      }
      return Promise.resolve();
    },
    remove: (name) => {
      const file = current(name);
      if (file !== undefined) {
        touch(file);
        files.splice(files.indexOf(file), 1);
      }
      return Promise.resolve();
    },
    renewCredential: () => {
      token = `token-${(made += 1)}`;
      return Promise.resolve(value());
    },
    close: () => fake.stop(),
  };
}
