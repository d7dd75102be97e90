import { createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { openPromise } from 'yauzl';

/** Writes the named entries of a zip archive into a folder; entries of another size are skipped. */
export async function unpackEntries(
  archive: string,
  folder: string,
  entries: readonly { entry: string; bytes: number }[],
): Promise<void> {
  const zip = await openPromise(archive, { lazyEntries: true });
  try {
    for await (const found of zip.eachEntry()) {
      const wanted = entries.find(({ entry }) => entry === found.fileName);
      if (wanted !== undefined && found.uncompressedSize === wanted.bytes) {
        const content = await zip.openReadStreamPromise(found);
        await pipeline(content, createWriteStream(join(folder, wanted.entry)));
      }
    }
  } finally {
    zip.close();
  }
}
