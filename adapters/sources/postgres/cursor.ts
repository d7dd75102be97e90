import { z } from 'zod';
import { SourceFailure } from '#domain/knowledge/connectors/source.ts';

/** After this number of rows a listing is cut. */
export const maxRows = 1_000_000;

const cursorForm = z.strictObject({
  /** Key of the last row. */
  after: z.string(),
  page: z.int().min(2),
  newest: z.string().nullable(),
});
const checkpointForm = z.strictObject({ columns: z.string(), newest: z.string().nullable() });

export type Cursor = z.infer<typeof cursorForm>;

export function readCursor(text: string): Cursor {
  const cursor = cursorForm.safeParse(jsonOf(text)).data;
  if (cursor === undefined) {
    throw new SourceFailure('cursor_expired', 'The position in the listing cannot be read.');
  }
  return cursor;
}

export const writeCursor = (cursor: Cursor): string => JSON.stringify(cursor);

/**
 * The newest state of the last complete listing, after which rows come with their content; null: all do, as after a
 * change of the columns.
 */
export function readCheckpoint(text: string | null, columns: string): string | null {
  const checkpoint = text === null ? undefined : checkpointForm.safeParse(jsonOf(text)).data;
  return checkpoint?.columns === columns ? checkpoint.newest : null;
}

export const writeCheckpoint = (columns: string, newest: string | null): string =>
  JSON.stringify({ columns, newest });

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
