import type { DriveFile } from './wire.ts';

const native = 'application/vnd.google-apps.';
/** As what files without bytes of their own are exported. */
const exports = new Map([
  [`${native}document`, 'text/markdown'],
  [`${native}spreadsheet`, 'text/csv'],
  [`${native}presentation`, 'text/plain'],
]);

/** Null: it has bytes of its own. */
export function exportType(mimeType: string): string | null {
  return exports.get(mimeType) ?? null;
}

/** Folders, shortcuts, forms and maps are none. */
export function isDocument({ mimeType, trashed }: DriveFile): boolean {
  return trashed !== true && (!mimeType.startsWith(native) || exports.has(mimeType));
}

/** The hash of the bytes; of a file without bytes the number of its changes. */
export function versionOf({ md5Checksum, version }: DriveFile): string | null {
  return md5Checksum ?? version ?? null;
}
