/**
 * Bytes of content in one page of a list: what the rows bring with them may be megabytes each, and a process that
 * writes a hundred of them answers nobody else meanwhile.
 */
export const pageBytes = 4 * 1024 * 1024;

/** The first of `rows` that one page holds: at least one, however large it is. */
export function fitting<Row extends { bytes: number }>(rows: readonly Row[]): Row[] {
  let sum = 0;
  const over = rows.findIndex(({ bytes }, index) => {
    sum += bytes;
    return index > 0 && sum > pageBytes;
  });
  return over === -1 ? [...rows] : rows.slice(0, over);
}
