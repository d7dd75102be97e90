import { SourceFailure } from '#domain/knowledge/connectors/source.ts';

/** One million keys: a source whose pages never end is cut here. */
export const maxPages = 1_000;
const maxTokenLength = 4_096;

export interface Position {
  page: number;
  token: string | null;
}

export function readCursor(cursor: string | null): Position {
  if (cursor === null) {
    return { page: 1, token: null };
  }
  const colon = cursor.indexOf(':');
  const page = Number(cursor.slice(0, colon));
  if (colon < 1 || !Number.isSafeInteger(page)) {
    throw new SourceFailure('cursor_expired', 'The position in the listing cannot be read.');
  }
  return { page, token: cursor.slice(colon + 1) };
}

/**
 * @param next the token for the page after `position`
 * @throws SourceFailure where the source would begin again at the same place, or gives no token
 */
export function writeCursor(position: Position, next: string | undefined): string {
  if (next === undefined || next === '' || next.length > maxTokenLength || next === position.token) {
    throw new SourceFailure('source_invalid', 'The source does not say where its next page begins.');
  }
  return `${position.page + 1}:${next}`;
}
