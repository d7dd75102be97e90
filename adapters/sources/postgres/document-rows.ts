import { z } from 'zod';
import { SourceFailure } from '#domain/knowledge/connectors/source.ts';
import type { Row } from './statements.ts';

const count = z.string().regex(/^\d{1,15}$/);
const form = z.looseObject({
  key: z.string(),
  key_bytes: count,
  title: z.string().nullable(),
  state: z.string().nullable(),
  bytes: count,
  readers: z.string().nullable(),
  has_body: z.string(),
});

/** Rows of documents as they were asked for: a server, and the types of a database, decide what they are. */
export function documentRows(rows: readonly Row[]): readonly Row[] {
  if (rows.every((row) => form.safeParse(row).success)) {
    return rows;
  }
  throw new SourceFailure(
    'source_invalid',
    'The database answers with rows of another form than it was asked for.',
  );
}
