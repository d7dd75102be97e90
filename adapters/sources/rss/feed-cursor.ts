import { z } from 'zod';
import { SourceFailure } from '#domain/knowledge/connectors/source.ts';

const versions = z.record(z.string(), z.string());
const index = z.int().min(0).max(49);
const cursorSchema = z.strictObject({
  pending: z.array(index),
  failed: z.array(index),
  isLastTry: z.boolean(),
  read: z.int().min(0).default(0),
  offset: z.int().min(0),
  versions,
});

/** The place in a listing of several feeds, which the scope numbers. */
export interface FeedCursor {
  /** The first of them is being listed, up to `offset` entries. */
  pending: number[];
  /** Tried once more after all others, so that one broken feed does not hold up the rest. */
  failed: number[];
  isLastTry: boolean;
  /** Feeds that could be read. */
  read: number;
  offset: number;
  /** Of the feeds, by key: the next checkpoint. */
  versions: Map<string, string>;
}

export function parseCursor(cursor: string, feeds: number): FeedCursor {
  try {
    const parsed = cursorSchema.parse(JSON.parse(cursor));
    if ([...parsed.pending, ...parsed.failed].every((feed) => feed < feeds)) {
      return { ...parsed, versions: new Map(Object.entries(parsed.versions)) };
    }
  } catch {
    // As below.
  }
  throw new SourceFailure('cursor_expired', 'The listing has to begin again.');
}

export function encodeCursor(cursor: FeedCursor): string {
  return JSON.stringify({ ...cursor, versions: Object.fromEntries(cursor.versions) });
}

/** Versions of feeds by key; none where the checkpoint is of another form. */
export function parseCheckpoint(checkpoint: string | null): ReadonlyMap<string, string> {
  try {
    return new Map(Object.entries(versions.parse(JSON.parse(checkpoint ?? '{}'))));
  } catch {
    return new Map();
  }
}
