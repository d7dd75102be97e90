import { constants } from 'node:fs';
import { open, realpath, stat, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';

/** A folder or file that was reached from its root without following a symbolic link. */
export interface Opened {
  handle: FileHandle;
  /** Names the opened folder itself, also after it was moved or replaced. */
  path: string;
}

/** Not reached: it is gone, a symbolic link stands in its place, or it is neither folder nor file. */
export class NotBeneath extends Error {}

const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK } = constants;
/** The system opens names relative to an open folder by this way only. */
const byHandle = process.platform === 'linux';

/**
 * Opens component by component, each relative to the folder opened before and none through a symbolic link, so that
 * whatever is renamed meanwhile, nothing outside of the root is opened. The caller closes the handle.
 * @param root without symbolic links
 */
export async function openBeneath(
  root: string,
  segments: readonly string[],
  kind: 'folder' | 'file',
): Promise<Opened> {
  let opened = openedAs(await open(root, O_RDONLY | O_DIRECTORY), root);
  for (const [index, segment] of segments.entries()) {
    const parent = opened;
    try {
      opened = await openIn(parent, segment, index === segments.length - 1 ? kind : 'folder');
    } finally {
      await parent.handle.close();
    }
  }
  return opened;
}

/** The same for one name in an open folder, which stays open. */
export async function openIn(folder: Opened, name: string, kind: 'folder' | 'file'): Promise<Opened> {
  const path = join(folder.path, name);
  // Without O_NONBLOCK a pipe would be waited for.
  const flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | (kind === 'file' ? 0 : O_DIRECTORY);
  const handle = await open(path, flags);
  if (!byHandle) {
    await assertSame(path, handle);
  }
  return openedAs(handle, path);
}

function openedAs(handle: FileHandle, path: string): Opened {
  return { handle, path: byHandle ? `/proc/self/fd/${handle.fd}` : path };
}

/** Elsewhere the opened file is compared with the one at its path without links. */
async function assertSame(path: string, handle: FileHandle): Promise<void> {
  const [own, there, real] = await Promise.all([handle.stat(), stat(path), realpath(path)]);
  if (real !== path || own.ino !== there.ino || own.dev !== there.dev) {
    await handle.close();
    throw new NotBeneath();
  }
}
