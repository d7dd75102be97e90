import { cleanText } from '#domain/foundation/kernel/clean-text.ts';
import type { ListedDocument } from '#domain/knowledge/connectors/source.ts';
import type { Drive, DriveItem } from './wire.ts';

const maxNameLength = 500;
const maxAddressLength = 4_000;

/** Notebooks and links to items of other drives are none, nor what the service found to be malware. */
export function isDocument({
  file,
  folder,
  package: pack,
  remoteItem,
  malware,
  deleted,
}: DriveItem): boolean {
  return [folder, pack, remoteItem, malware, deleted].every((facet) => facet == null) && file != null;
}

/** Both ids stay when a file is renamed, or moved within its drive. */
export function refOf(driveId: string, id: string): string {
  return `${driveId}/${id}`;
}

/** Null: no version of the platform has made it. */
export function parseRef(ref: string): { driveId: string; id: string } | null {
  const [, driveId, id] = /^([A-Za-z0-9!_-]{1,200})\/([A-Za-z0-9!_-]{1,200})$/.exec(ref) ?? [];
  return driveId === undefined || id === undefined ? null : { driveId, id };
}

/**
 * The hash and the length of the bytes. Different bytes of one length may have the same quick hash, so that counts only
 * with the time of the last change. Without both, the tag of the item, which a renaming changes, too: the tag of the
 * content alone (`cTag`) is left out of listings of OneDrive for Business.
 */
export function versionOf({ file, size, eTag, lastModifiedDateTime: modified }: DriveItem): string | null {
  const { quickXorHash: quick, sha256Hash, sha1Hash } = file?.hashes ?? {};
  const hash = sha256Hash ?? sha1Hash;
  const length = size ?? '';
  if (hash != null) {
    return cleanText(`${hash} ${length}`);
  }
  if (quick != null && modified != null) {
    return cleanText(`${quick} ${length} ${modified}`);
  }
  return eTag == null ? null : cleanText(eTag);
}

export function toDocument(
  { id: driveId, name: library }: Drive,
  item: DriveItem,
  path: string,
): ListedDocument {
  const { id, size, file, webUrl } = item;
  const isAddress = webUrl != null && /^https?:\/\//.test(webUrl) && webUrl.length <= maxAddressLength;
  return {
    ref: refOf(driveId, id),
    // The end of a path is what tells files apart.
    name: cleanText(`${library}/${path}`.slice(-maxNameLength)),
    version: versionOf(item),
    byteSize: size ?? null,
    mediaType: file?.mimeType == null ? null : cleanText(file.mimeType),
    url: isAddress ? cleanText(webUrl) : null,
  };
}
