/** A name of the catalogue as an SQL identifier; `?` is the placeholder of a parameter and is in no name. */
export function quoted(name: string): string {
  if (name.includes('?')) throw new Error(`The name ${name} cannot be used in a statement.`);
  return `"${name.replaceAll('"', '""')}"`;
}
