import { open } from 'node:fs/promises';
import type { AnchorLog } from '#domain/events/anchor.ts';

/** Anchors as lines of a file that only ever grows; without a path they are kept nowhere. */
export function fileAnchors(path: string | undefined): AnchorLog {
  return {
    append: async (anchors) => {
      if (path === undefined) {
        return;
      }
      const file = await open(path, 'a', 0o640);
      try {
        await file.write(anchors.map((anchor) => `${JSON.stringify(anchor)}\n`).join(''));
        await file.datasync();
      } finally {
        await file.close();
      }
    },
  };
}
