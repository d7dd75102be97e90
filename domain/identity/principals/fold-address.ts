/** Of the letters A to Z alone: there are others whose lower case is one of those, and they are in other addresses. */
export function foldCase(address: string): string {
  return address.replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase());
}

/** The same of a column, in SQL. */
export function foldedInSql(column: string): string {
  return `lower(${column} collate "C")`;
}
