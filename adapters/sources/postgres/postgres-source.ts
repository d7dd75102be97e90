import {
  SourceFailure,
  type Fetched,
  type FetchInput,
  type ListInput,
  type Source,
  type SourcePage,
} from '#domain/knowledge/connectors/source.ts';
import { createConnection, type PostgresAccess } from './connection.ts';
import { maxRows, readCheckpoint, readCursor, writeCheckpoint, writeCursor } from './cursor.ts';
import { documentRows } from './document-rows.ts';
import { rowContent, rowDocument, rowVersion } from './row-document.ts';
import { columnsDigest, type PostgresScope } from './scope.ts';
import {
  existsStatement,
  maxKeyBytes,
  newestStatement,
  pageRowsOf,
  pageStatement,
  rowStatement,
  type Row,
} from './statements.ts';

/** The heading, and the names of the columns. */
const markupBytes = 8_192;

/**
 * Lists all keys with their versions in each run, so that deletions show; the content comes with rows that are newer
 * than the last complete run. Which rows these are saves requests only: versions decide what has changed.
 */
export function postgresSource(scope: PostgresScope, access: PostgresAccess): Source {
  const connection = createConnection(scope, access);
  const columns = columnsDigest(scope);

  const newestState = async (signal: AbortSignal): Promise<string | null> => {
    const statement = newestStatement(scope);
    if (statement === null) {
      return '';
    }
    const [row] = await connection.rows(statement, signal);
    return row?.['newest'] ?? null;
  };

  return {
    check: async (signal) => {
      const statement = pageStatement(scope, { after: null, since: null });
      const rows = documentRows(await connection.rows(statement, signal));
      assertFitKeys(rows, { after: null, pageRows: pageRowsOf(scope, null) });
    },

    list: async (input: ListInput, signal): Promise<SourcePage> => {
      const cursor = input.cursor === null ? null : readCursor(input.cursor);
      const page = cursor?.page ?? 1;
      const newest = cursor === null ? await newestState(signal) : cursor.newest;
      const since = readCheckpoint(input.checkpoint, columns);
      const statement = pageStatement(scope, { after: cursor?.after ?? null, since });
      const rows = documentRows(await connection.rows(statement, signal));
      const pageRows = pageRowsOf(scope, since);
      assertFitKeys(rows, { after: cursor?.after ?? null, pageRows });
      const last = rows.length === pageRows ? rows.at(-1) : undefined;
      const cut = last !== undefined && page * pageRows >= maxRows;
      return {
        documents: rows.filter(({ key }) => key !== '').map((row) => rowDocument(row, scope)),
        gone: [],
        next: last === undefined || cut ? null : writeCursor({ after: last.key, page: page + 1, newest }),
        checkpoint: last === undefined ? writeCheckpoint(columns, newest) : null,
        total: null,
        scope: 'everything',
        truncated: cut,
      };
    },

    fetch: async ({ ref, version, maxBytes }: FetchInput, signal): Promise<Fetched> => {
      const read = (key: string) => connection.rows(rowStatement(scope, key, maxBytes), signal, maxBytes);
      const [row] = documentRows(await rowsOf(ref, read));
      if (row === undefined) {
        return { kind: 'gone' };
      }
      const content = rowContent(row, scope);
      if (content === null || content.byteLength > maxBytes + markupBytes) {
        return { kind: 'skipped', code: 'too_large' };
      }
      const current = rowVersion(row, scope, content);
      return current === version
        ? { kind: 'unchanged' }
        : { kind: 'content', content, mediaType: 'text/markdown', version: current };
    },

    exists: async (ref, signal) =>
      (await rowsOf(ref, (key) => connection.rows(existsStatement(scope, key), signal))).length > 0,

    close: () => connection.close(),
  };
}

/** No row can have a key that the column's type does not read. */
async function rowsOf(ref: string, read: (key: string) => Promise<Row[]>): Promise<Row[]> {
  if (ref.includes('\0')) {
    return [];
  }
  try {
    return await read(ref);
  } catch (error) {
    if (error instanceof SourceFailure && error.code === 'cursor_expired') {
      return [];
    }
    throw error;
  }
}

function assertFitKeys(
  rows: readonly Row[],
  { after, pageRows }: { after: string | null; pageRows: number },
): void {
  if (rows.length > pageRows) {
    throw new SourceFailure('source_invalid', 'The source lists more rows in a page than were requested.');
  }
  if (rows.some(({ key_bytes }) => Number(key_bytes) > maxKeyBytes)) {
    throw new SourceFailure('scope_invalid', `A key has more than ${maxKeyBytes} bytes.`);
  }
  const keys = rows.map(({ key }) => key);
  if (new Set(keys).size !== keys.length || (after !== null && keys.includes(after))) {
    throw new SourceFailure('scope_invalid', 'The key column has the same value in several rows.');
  }
}
