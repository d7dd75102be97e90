const width = 24;

/** `[######------] 1234 of 5678 rows`; without a count only the rows that are done. */
export function progressBar({
  rows_done: done,
  rows_counted: counted,
}: {
  rows_done: number;
  rows_counted: number | null;
}): string {
  if (counted === null) {
    return `[${'-'.repeat(width)}] ${done} rows`;
  }
  const filled = counted === 0 ? width : Math.min(width, Math.floor((done / counted) * width));
  return `[${'#'.repeat(filled)}${'-'.repeat(width - filled)}] ${done} of ${counted} rows`;
}
