import type { z } from 'zod';
import { SourceFailure } from '#domain/knowledge/connectors/source.ts';

/** What a provider has stored as JSON; null: it is not of this form, such as that of an earlier version. */
export function parseStored<T>(schema: z.ZodType<T>, text: string): T | null {
  try {
    return schema.parse(JSON.parse(text));
  } catch {
    return null;
  }
}

/** The state of a listing, from a cursor. @throws SourceFailure `cursor_expired` */
export function parseState<T>(schema: z.ZodType<T>, text: string): T {
  try {
    return schema.parse(JSON.parse(text));
  } catch (error) {
    throw new SourceFailure('cursor_expired', 'The listing has to begin again.', { cause: error });
  }
}
