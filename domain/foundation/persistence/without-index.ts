/**
 * `column = ?` for a uuid, or for a value such as `any(?::uuid[])`, in a form for which no index is read. Of a space that
 * its statistics have not seen, PostgreSQL expects a single row: an index that begins with the tenant and the space then
 * looks as good as the one of the row itself, and all rows of the space are read for each look-up.
 */
export const withoutIndex = (column: string, value = '?::uuid') => `coalesce(${column} = ${value}, false)`;
