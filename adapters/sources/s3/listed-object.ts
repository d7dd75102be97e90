import type { _Object as S3Object } from '@aws-sdk/client-s3';
import { SourceFailure, type ListedDocument } from '#domain/knowledge/connectors/source.ts';
import type { S3Scope } from './scope.ts';

const maxKeyBytes = 2_000;

/**
 * The key as the source stores it. With `encoding-type=url` a space is a plus, as in forms, since XML cannot hold every
 * character of a key.
 */
export function decodeKey(key: string, encoded: boolean): string {
  if (!encoded) {
    return key;
  }
  try {
    return decodeURIComponent(key.replaceAll('+', ' '));
  } catch (error) {
    throw new SourceFailure('source_invalid', 'The source lists a key that cannot be decoded.', {
      cause: error,
    });
  }
}

/** Equal for equal content, whether listed, where some servers leave out quotes, or fetched, without fractions of a second. */
export function versionOf(etag: string | undefined, modified: Date | undefined): string | null {
  const bare = etag?.replaceAll('"', '') ?? '';
  if (bare === '' || bare.length > 200) {
    return null;
  }
  const time = modified?.getTime() ?? Number.NaN;
  return `${bare}@${Number.isNaN(time) ? '' : Math.floor(time / 1_000)}`;
}

/** The ETag of a version, as `If-None-Match` has it. */
export function etagOf(version: string | null): string | null {
  const end = version?.lastIndexOf('@') ?? -1;
  return version === null || end < 1 ? null : `"${version.slice(0, end)}"`;
}

/** Null for what is no document: the empty objects with which consoles represent folders. */
export function listedObject(
  object: S3Object,
  key: string,
  { prefix }: Pick<S3Scope, 'prefix'>,
): ListedDocument | null {
  const isFolder = key.endsWith('/') || key.endsWith('_$folder$');
  if (key === '' || isFolder || Buffer.byteLength(key) > maxKeyBytes) {
    return null;
  }
  const size = object.Size ?? Number.NaN;
  return {
    ref: key,
    name: nameOf(key, prefix),
    version: versionOf(object.ETag, object.LastModified),
    byteSize: Number.isSafeInteger(size) && size >= 0 ? size : null,
    mediaType: null,
    url: null,
  };
}

/** The key after the folder of the prefix. */
export function nameOf(key: string, prefix: string): string {
  return key.slice(prefix.lastIndexOf('/') + 1);
}

/** Addresses cannot hold `.` and `..` as parts of a path: such an object cannot be requested. */
export function canBeRequested(key: string): boolean {
  return !key.split('/').some((part) => part === '.' || part === '..');
}
