import { DatabaseError } from 'pg';
import { SourceFailure, type SourceFailureCode } from '#domain/knowledge/connectors/source.ts';
import { requestFailure } from '../shared/http-failure.ts';
import { certificateFailure } from '../shared/tls-failure.ts';

/** By SQLSTATE, or its first two characters. */
const byState = new Map<string, [SourceFailureCode, string]>([
  ['28', ['auth_failed', 'The database refuses the credential.']],
  ['42501', ['auth_failed', 'The user of the database may not read the table.']],
  ['3D000', ['scope_invalid', 'The server has no such database.']],
  ['3F000', ['scope_invalid', 'The database has no such schema.']],
  ['42P01', ['scope_invalid', 'The database has no such table.']],
  ['42703', ['scope_invalid', 'The table lacks a column of the scope; a view needs updated_at.']],
  ['42', ['scope_invalid', 'A column of the scope has a type that its use does not fit.']],
  ['22', ['scope_invalid', 'A column of the scope has a type that its use does not fit.']],
  ['0A', ['scope_invalid', 'The database cannot list this table by its key.']],
  ['25006', ['scope_invalid', 'Reading the table would change data.']],
  ['53300', ['rate_limited', 'The database has no connection left.']],
  ['57014', ['source_unreachable', 'The database did not answer in time.']],
]);

/** The type of a column does not read a value, or has a smaller range. */
const unreadable = new Set(['22P02', '22003', '22007', '22008']);

export function isUnreadable(error: unknown): boolean {
  return error instanceof DatabaseError && unreadable.has(error.code ?? '');
}

/** A key or a state that was stored is none of its column's type. */
export function otherType(cause: unknown): SourceFailure {
  return new SourceFailure('cursor_expired', 'A column of the scope has another type than before.', {
    cause,
  });
}

/** Any error of the client as a `SourceFailure`; an abort of the caller's own signal is passed on as it is. */
export function postgresFailure(error: unknown, signal: AbortSignal): unknown {
  if (error instanceof SourceFailure || signal.aborted) {
    return error;
  }
  if (error instanceof DatabaseError) {
    const state = error.code ?? '';
    const [code, message] = byState.get(state) ??
      byState.get(state.slice(0, 2)) ?? ['source_unreachable', 'The database answers with an error.'];
    return new SourceFailure(code, message, { cause: error });
  }
  const text = error instanceof Error ? error.message : '';
  if (text.includes('does not support SSL') || text.includes('establishing an SSL connection')) {
    return new SourceFailure('scope_invalid', 'The database does not encrypt connections.', { cause: error });
  }
  if (text.startsWith('SASL')) {
    return new SourceFailure('source_invalid', 'The database cannot prove that it knows the password.', {
      cause: error,
    });
  }
  return certificateFailure(error) ?? requestFailure(error, signal);
}
