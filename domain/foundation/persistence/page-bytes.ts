/**
 * Max bytes of content in one page of a list: a row may hold megabytes, and serialising a hundred of them would block
 * the process.
 */
export const pageBytes = 4 * 1024 * 1024;

/** The first of `rows` that fit on one page: at least one, however large it is. */
export function fitting<Row extends { bytes: number }>(rows: readonly Row[]): Row[] {
  let sum = 0;
  const over = rows.findIndex(({ bytes }, index) => {
    sum += bytes;
    return index > 0 && sum > pageBytes;
  });
  return over === -1 ? [...rows] : rows.slice(0, over);
}
