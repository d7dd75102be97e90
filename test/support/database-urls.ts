/** The same server and login, another database. */
export function databaseUrl(url: string, database: string): string {
  const other = new URL(url);
  other.pathname = `/${database}`;
  return other.href;
}

/** The same server and database, another login. */
export function withRole(url: string, role: string, password: string): string {
  const other = new URL(url);
  other.username = role;
  other.password = password;
  return other.href;
}
