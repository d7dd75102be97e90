import { z } from 'zod';

/** A chain's head at a moment, stored where the database's owner cannot change it. */
export const anchorSchema = z.strictObject({
  at: z.iso.datetime(),
  tenant_id: z.uuid(),
  /** Batches and events up to the head. */
  seq: z.int().nonnegative(),
  event_count: z.int().nonnegative(),
  /** In hex. */
  head: z.string(),
  /** Where retention had cut the chain, and the retention in days. */
  checkpoint_seq: z.int().nonnegative(),
  retention_days: z.int().positive(),
});

export type Anchor = z.infer<typeof anchorSchema>;

/** The append-only destination of anchors, outside the database. */
export interface AnchorLog {
  /** Resolves when the anchors are on disk. @returns false if there is no destination, so that nothing is anchored */
  append(anchors: readonly Anchor[]): Promise<boolean>;
}

/** Ends a line that a crash truncated, so that the next anchor starts a new line. */
export const truncationMark = ' (cut off)';

/** Parses one JSON document a line and skips truncated lines. @throws for any other line that is not an anchor */
export function parseAnchors(text: string): Anchor[] {
  const lines = text.split('\n');
  return lines.slice(0, -1).flatMap((line, at) => {
    if (line.endsWith(truncationMark)) {
      return [];
    }
    try {
      return [anchorSchema.parse(JSON.parse(line))];
    } catch {
      throw new Error(`Line ${at + 1} of the anchor file is no anchor.`);
    }
  });
}
