import { z } from 'zod';

/** A chain's head at a moment, kept where the database's owner cannot reach it. */
export const anchorSchema = z.strictObject({
  at: z.iso.datetime(),
  tenant_id: z.uuid(),
  /** Batches and events up to the head. */
  seq: z.int().nonnegative(),
  event_count: z.int().nonnegative(),
  /** In hex. */
  head: z.string(),
  /** Where retention had cut the chain, and how many days it kept. */
  checkpoint_seq: z.int().nonnegative(),
  retention_days: z.int().positive(),
});

export type Anchor = z.infer<typeof anchorSchema>;

/** Where anchors go: append-only, outside the database. */
export interface AnchorLog {
  /** Resolves when they are on the disk. */
  append(anchors: readonly Anchor[]): Promise<void>;
}

/** Ends a line that a crash has cut off, so that the next one begins a line of its own. */
export const truncationMark = ' (cut off)';

/** One JSON document a line. A line that a crash has cut off says nothing. @throws for any other line that is no anchor */
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
