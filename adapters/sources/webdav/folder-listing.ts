import { SourceFailure } from '#domain/knowledge/connectors/source.ts';
import type { Found } from './dav-client.ts';
import { childName, decodeHref, isSame } from './hrefs.ts';
import type { DavResponse } from './multistatus.ts';

export interface DavFile {
  name: string;
  version: string | null;
  byteSize: number | null;
  mediaType: string | null;
}

/** What is in one folder, sorted by name. */
export interface FolderListing {
  files: readonly DavFile[];
  folders: readonly string[];
}

/**
 * Null: the resource is no folder.
 * @throws SourceFailure where the answer is about another resource
 */
export function listingOf({ path, responses, ...asked }: Found): FolderListing | null {
  const files = new Map<string, DavFile>();
  const folders = new Set<string>();
  let self: DavResponse | null = null;
  for (const response of responses) {
    const resource = decodeHref(response.href);
    const name = childName(path, resource);
    if (name === null) {
      if (isSame(path, resource)) self ??= response;
    } else if (response.status < 300) {
      if (response.isFolder) folders.add(name);
      else files.set(name, fileOf(name, response, asked));
    }
  }
  if (self === null) {
    throw new SourceFailure(
      'source_invalid',
      'The server lists another folder than the one it was asked for, for instance behind a proxy that changes paths.',
    );
  }
  if (!self.isFolder) {
    return null;
  }
  for (const name of folders) files.delete(name);
  return {
    files: [...files.values()].toSorted((a, b) => order(a.name, b.name)),
    folders: [...folders].toSorted(order),
  };
}

type Asked = Pick<Found, 'askedAt' | 'marginMs'>;

function fileOf(name: string, { etag, modified, length, mediaType }: DavResponse, asked: Asked): DavFile {
  return {
    name,
    version: versionOf({ etag, modified, length }, asked),
    byteSize: /^\d{1,15}$/.test(length) ? Number(length) : null,
    mediaType: mediaType === '' ? null : mediaType.slice(0, 200),
  };
}

const maxVersionLength = 300;

/**
 * A weak ETag is as good as a strong one: a server may give one right after the other for the same content. A time of
 * change is in whole seconds, and counts where no further change can get the same one; in another form than that of HTTP
 * it is compared as it is.
 */
function versionOf(
  { etag, modified, length }: Pick<DavResponse, 'etag' | 'modified' | 'length'>,
  { askedAt, marginMs }: Asked,
): string | null {
  const strong = etag.replace(/^W\//, '');
  const isRecent = Math.abs(askedAt - Date.parse(modified)) < marginMs;
  const ofTime = modified === '' || isRecent ? '' : `modified ${modified} ${length}`;
  const version = strong === '' ? ofTime : `etag ${strong}`;
  return version === '' || version.length > maxVersionLength ? null : version;
}

/** For a conditional request; null: the version was not made from an ETag that can stand in a header. */
export function etagOf(version: string | null): string | null {
  return version !== null && /^etag "[\x21\x23-\x7e]*"$/.test(version) ? version.slice('etag '.length) : null;
}

/** By code units, the same everywhere. */
export function order(a: string, b: string): number {
  return a < b ? -1 : Number(a > b);
}

/** The index of the first of sorted items that comes after `name`. */
export function indexAfter<T>(items: readonly T[], name: string, nameOf: (item: T) => string): number {
  let [low, high] = [0, items.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    const item = items[middle];
    if (item !== undefined && nameOf(item) <= name) low = middle + 1;
    else high = middle;
  }
  return low;
}
