import type { DriveFile } from './wire.ts';

const native = 'application/vnd.google-apps.';
const markdown = 'text/markdown';
/** As what files without bytes of their own are exported, and as what in place of it where that is too large. */
const exports = new Map<string, readonly [type: string, instead?: string]>([
  [`${native}document`, [markdown, 'text/plain']],
  [`${native}spreadsheet`, ['text/csv']],
  [`${native}presentation`, ['text/plain']],
]);

/** Null: it has bytes of its own. */
export function exportTypes(mimeType: string): readonly [type: string, instead?: string] | null {
  return exports.get(mimeType) ?? null;
}

/** Folders, shortcuts, forms and maps are none. */
export function isDocument({ mimeType, trashed }: DriveFile): boolean {
  return trashed !== true && (!mimeType.startsWith(native) || exports.has(mimeType));
}

/** The hash of the bytes; of a file without bytes the number of its changes, and the form of its text. */
export function versionOf({ mimeType, md5Checksum, version }: DriveFile): string | null {
  // The second form is without images.
  const form = exports.get(mimeType)?.[0] === markdown ? '/2' : '';
  return md5Checksum ?? (version === undefined ? null : `${version}${form}`);
}
