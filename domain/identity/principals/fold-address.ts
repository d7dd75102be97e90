/**
 * Folds the letters A to Z only: some other letters have one of these as their lower case, and belong to other
 * addresses.
 */
export function foldCase(address: string): string {
  return address.replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase());
}

/** The same fold for a column, in SQL. */
export function foldedInSql(column: string): string {
  return `lower(${column} collate "C")`;
}
