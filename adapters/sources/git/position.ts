import { z } from 'zod';
import { SourceFailure } from '#domain/knowledge/connectors/source.ts';

const objectId = z.string().regex(/^[0-9a-f]{40}([0-9a-f]{24})?$/);

/** Where the next page of a listing begins. */
const position = z.strictObject({
  /** The commit that is listed. */
  to: objectId,
  /** Changes since this one are listed; null: everything. */
  from: objectId.nullable(),
  after: z.string().nullable(),
});

export type Position = z.infer<typeof position>;

export function parsePosition(cursor: string): Position {
  try {
    return position.parse(JSON.parse(cursor));
  } catch (error) {
    throw new SourceFailure('cursor_expired', 'The position in the listing is unknown.', { cause: error });
  }
}

export function writeCheckpoint(commit: string, digest: string): string {
  return `${commit}.${digest}`;
}

/** The commit; null: none, or it was listed with another scope. */
export function parseCheckpoint(checkpoint: string | null, digest: string): string | null {
  const [commit, of] = (checkpoint ?? '').split('.');
  return of === digest && objectId.safeParse(commit).success ? (commit ?? null) : null;
}
