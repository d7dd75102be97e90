import { escapeIdentifier as id } from 'pg';
import type { PostgresScope } from './scope.ts';

const fullPageRows = 100;
const lightPageRows = 1_000;
/** A longer row is fetched on its own. */
const inlineRowBytes = 256 * 1_024;
const inlinePageBytes = 4 * 1_048_576;
const titleLength = 500;
const maxReadersBytes = 20_000;
export const maxKeyBytes = 1_900;

/** A row as text; its body is in `body_0` and on. */
export interface Row {
  key: string;
  key_bytes: string;
  title: string | null;
  /** What `updated_at` or `xmin` has. */
  state: string | null;
  bytes: string;
  /** JSON of the column of readers. */
  readers: string | null;
  /** `true`: the body is in the row; else it is too long, or was not asked for. */
  has_body: string;
  [column: string]: string | null;
}

export interface Statement {
  text: string;
  values: string[];
  /** Whether the columns' types hold the values; it reads no row. Null: no value is compared with a column. */
  cast: Pick<Statement, 'text' | 'values'> | null;
}

/** `columns` are those with which the first of the values are compared. */
function statement(
  scope: PostgresScope,
  { text, values, columns }: { text: string; values: string[]; columns: readonly string[] },
): Statement {
  // By the type of the table's rows: the query of a view is not evaluated, whose rows may have errors of their own.
  const casts = columns.map((column, at) => `(null::${tableOf(scope)}).${id(column)} = $${at + 1}`);
  const cast = { text: `select ${casts.join(', ')}`, values: values.slice(0, columns.length) };
  return { text, values, cast: columns.length === 0 ? null : cast };
}

/**
 * Rows of a page. After a complete listing most come without their body, so that more fit; lists of readers may be long.
 * It is the same for all pages of a listing.
 */
export function pageRowsOf({ readers }: PostgresScope, since: string | null): number {
  return since === null || readers !== null ? fullPageRows : lightPageRows;
}

/** A page of rows after a key. `since`: a state after which rows come with their body; null: all do. */
export function pageStatement(
  scope: PostgresScope,
  { after, since }: { after: string | null; since: string | null },
): Statement {
  const values: string[] = [];
  const columns: string[] = [];
  const parameter = (value: string, column: string) => {
    columns.push(column);
    return `$${values.push(value)}`;
  };
  const beyond = after === null ? '' : `and ${id(scope.key)} > ${parameter(after, scope.key)}`;
  const rows = `select ${ownColumns(scope)} from ${tableOf(scope)}
    where ${id(scope.key)} is not null ${beyond} order by ${id(scope.key)} limit ${pageRowsOf(scope, since)}`;
  const { updated_at: state } = scope;
  // A row without a state may have changed since.
  const isNewer = (from: string, column: string) => `coalesce(s > ${parameter(from, column)}, true)`;
  const isNew = since === null ? 'true' : state === null ? 'false' : isNewer(since, state);
  const judged = `select *, (b <= ${inlineRowBytes} and ${isNew}) as wanted from (${rows}) rows`;
  const before =
    'sum(case when wanted then b else 0 end) over (order by k rows between unbounded preceding and 1 preceding)';
  const text = `select ${shownColumns(scope, `(wanted and coalesce(before, 0) + b <= ${inlinePageBytes})`)}
    from (select *, ${before} as before from (${judged}) judged) sized order by k`;
  return statement(scope, { text, values, columns });
}

export function rowStatement(scope: PostgresScope, key: string, maxBytes: number): Statement {
  const text = `select ${shownColumns(scope, '(b <= $2::bigint)')}
    from (select ${ownColumns(scope)} from ${tableOf(scope)} where ${id(scope.key)} = $1 limit 1) rows`;
  return statement(scope, { text, values: [key, String(maxBytes)], columns: [scope.key] });
}

export function existsStatement(scope: PostgresScope, key: string): Statement {
  const text = `select '' from ${tableOf(scope)} where ${id(scope.key)} = $1 limit 1`;
  return statement(scope, { text, values: [key], columns: [scope.key] });
}

/** The newest state, as text that the column's type reads again. */
export function newestStatement(scope: PostgresScope): Statement | null {
  const { updated_at: column } = scope;
  return column === null
    ? null
    : { text: `select max(${id(column)})::text as newest from ${tableOf(scope)}`, values: [], cast: null };
}

const tableOf = ({ schema, table }: PostgresScope): string => `${id(schema)}.${id(table)}`;

function ownColumns({ key, title, updated_at, readers, body }: PostgresScope): string {
  const bytes = body.map((column) => `coalesce(octet_length(${id(column)}::text), 0)::bigint`);
  return [
    `${id(key)} as k`,
    `${title === null ? 'null' : id(title)}::text as t`,
    `${updated_at === null ? 'xmin' : id(updated_at)} as s`,
    `${readers === null ? 'null::jsonb' : `to_jsonb(${id(readers)})`} as r`,
    `${bytes.join(' + ')} as b`,
    ...body.map((column, at) => `${id(column)} as c${at}`),
  ].join(', ');
}

function shownColumns({ body }: PostgresScope, hasBody: string): string {
  return [
    `left(k::text, ${maxKeyBytes + 1}) as key`,
    'octet_length(k::text)::text as key_bytes',
    `left(t, ${titleLength}) as title`,
    's::text as state',
    'b::text as bytes',
    `case when octet_length(r::text) <= ${maxReadersBytes} then r::text end as readers`,
    `${hasBody}::text as has_body`,
    ...body.map((_, at) => `case when ${hasBody} then c${at}::text end as body_${at}`),
  ].join(', ');
}
