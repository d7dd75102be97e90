import { open, type FileHandle } from 'node:fs/promises';
import { truncationMark, type Anchor, type AnchorLog } from '#domain/foundation/events/anchor.ts';

/** Appends anchors to a file, one a line; without a path they are discarded. */
export function fileAnchors(path: string | undefined): AnchorLog {
  const last = new Map<string, Anchor>();
  return {
    lastOf: (tenantId) => last.get(tenantId),
    append: async (anchors) => {
      if (path === undefined) {
        return false;
      }
      const file = await open(path, 'a+', 0o640);
      try {
        const lines = anchors.map((anchor) => `${JSON.stringify(anchor)}\n`).join('');
        await file.appendFile((await isTorn(file)) ? `${truncationMark}\n${lines}` : lines);
        await file.datasync();
        for (const anchor of anchors) last.set(anchor.tenant_id, anchor);
        return true;
      } finally {
        await file.close();
      }
    },
  };
}

/** Whether the last line is incomplete, because its writer was killed or the disk was full. */
async function isTorn(file: FileHandle): Promise<boolean> {
  const { size } = await file.stat();
  const { buffer, bytesRead } = await file.read({ buffer: Buffer.alloc(1), position: Math.max(0, size - 1) });
  return bytesRead > 0 && buffer.toString() !== '\n';
}
