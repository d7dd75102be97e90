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

/** Whether two anchors of a tenant differ in their time only. */
export function isSameHead(a: Anchor, b: Anchor): boolean {
  const { at: _a, ...one } = a;
  const { at: _b, ...other } = b;
  return JSON.stringify(one) === JSON.stringify(other);
}

/** The append-only destination of anchors, outside the database. */
export interface AnchorLog {
  /** Resolves when the anchors are on disk. @returns false if there is no destination, so that nothing is anchored */
  append(anchors: readonly Anchor[]): Promise<boolean>;
  /**
   * A tenant's last anchor that this process appended. Not from the database, whose owner could otherwise prevent
   * anchors.
   */
  lastOf(tenantId: string): Anchor | undefined;
}

/** Ends a line that a crash truncated, so that the next anchor starts a new line. */
export const truncationMark = ' (cut off)';

/**
 * Parses a line, without its end; `at` is its number.
 * @returns null for a truncated line @throws for any other line that is not an anchor
 */
export function parseAnchor(line: string, at: number): Anchor | null {
  if (line.endsWith(truncationMark)) {
    return null;
  }
  try {
    return anchorSchema.parse(JSON.parse(line));
  } catch {
    throw new Error(`Line ${at} of the anchor file is no anchor.`);
  }
}
