import { createHash } from 'node:crypto';
import { z } from 'zod';
import { certificateField, hostField, portField } from '../shared/server-address.ts';

const identifier = z
  .string()
  .min(1)
  .max(63)
  .refine((name) => !name.includes('\0') && name.isWellFormed(), 'must be a name without the character NUL');

export const postgresScope = z.strictObject({
  host: hostField,
  port: portField(5_432),
  database: identifier.describe('Database.'),
  ssl: z
    .enum(['verify', 'off'])
    .default('verify')
    .describe(
      'verify: the connection is encrypted, and the server must prove its name; off: neither, to servers that the operator lists alone.',
    ),
  ssl_certificate: certificateField,
  schema: identifier.default('public').describe('Schema of the table.'),
  table: identifier.describe('Table or view; each of its rows is a document.'),
  key: identifier.describe('Column with a unique value that does not change: text, integer or uuid.'),
  title: identifier
    .nullable()
    .default(null)
    .describe('Column with the title of the document; null: the key is the title.'),
  body: z
    .array(identifier)
    .min(1)
    .max(20)
    .refine((columns) => new Set(columns).size === columns.length, 'must not name a column twice')
    .describe('Columns that make the text of the document, in this order.'),
  updated_at: identifier
    .nullable()
    .default(null)
    .describe(
      'Column that changes with each change of the row, such as its time; null: the system column xmin, which views lack.',
    ),
  readers: identifier
    .nullable()
    .default(null)
    .describe(
      'Column with the addresses of those who may read the document: text[], or text with commas; * is for everybody, null for nobody.',
    ),
});

export type PostgresScope = z.infer<typeof postgresScope>;

/** Says whether a version is of the same columns: a change of the scope changes the documents. */
export function columnsDigest({ schema, table, key, title, body, updated_at }: PostgresScope): string {
  const columns = JSON.stringify([schema, table, key, title, body, updated_at]);
  return createHash('sha256').update(columns).digest('hex').slice(0, 16);
}
