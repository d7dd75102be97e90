/** A column: its heading and what stands in it. */
export type Columns<Row> = Record<string, (row: Row) => string | number | boolean | null | undefined>;

/** Rows below their headings, as wide as their content. */
export function table<Row>(rows: readonly Row[], columns: Columns<Row>): string {
  if (rows.length === 0) {
    return 'none';
  }
  const names = Object.keys(columns);
  const lines = [names, ...rows.map((row) => Object.values(columns).map((value) => clean(value(row))))];
  const widths = names.map((_, at) => Math.max(...lines.map((line) => line[at]?.length ?? 0)));
  return lines
    .map((line) =>
      line
        .map((cell, at) => cell.padEnd(widths[at] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

/** One `name: value` line for each member. */
export function fields(record: object): string {
  const width = Math.max(...Object.keys(record).map((name) => name.length));
  return Object.entries(record)
    .map(([name, value]) => `${`${name}:`.padEnd(width + 1)} ${clean(value as unknown)}`)
    .join('\n');
}

/** Text of several lines. */
export function lines(text: string): string {
  return text.split('\n').map(clean).join('\n');
}

/** Names come from other people: none may control the terminal. */
function clean(value: unknown): string {
  if (value === null || value === undefined) {
    return '-';
  }
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return text.replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, '?');
}
