import { z } from 'zod';
import { SourceFailure } from '#domain/knowledge/connectors/source.ts';

/** After this number of pages a listing is cut. */
export const maxPages = 10_000;

/** What a mailbox contained at one moment. */
const mailboxState = z.strictObject({
  path: z.string(),
  validity: z.string(),
  /** All messages of that moment have smaller UIDs. */
  next: z.int().min(1),
  /** Null: the server has none. */
  modseq: z.string().nullable(),
});

const checkpointForm = z.strictObject({
  /** Before 2 attachments were no documents: without it everything is listed again. */
  form: z.literal(2),
  mailboxes: z.array(mailboxState).max(50),
  /** Day of the oldest messages; null: all. */
  since: z.string().nullable(),
});

const cursorForm = z.strictObject({
  now: checkpointForm,
  /** By mailbox, the UID that the listing begins with. */
  from: z.array(z.int().min(1)).max(50),
  scope: z.enum(['everything', 'changes']),
  page: z.int().min(1),
  at: z.int().min(0),
  /** UID that the page begins with, in the mailbox `at`. */
  uid: z.int().min(1),
});

export type MailboxState = z.infer<typeof mailboxState>;
export type Checkpoint = z.infer<typeof checkpointForm>;
export type Cursor = z.infer<typeof cursorForm>;

export function readCursor(text: string): Cursor {
  const cursor = cursorForm.safeParse(jsonOf(text)).data;
  if (cursor === undefined) {
    throw new SourceFailure('cursor_expired', 'The position in the listing cannot be read.');
  }
  return cursor;
}

export function readCheckpoint(text: string | null): Checkpoint | null {
  return text === null ? null : (checkpointForm.safeParse(jsonOf(text)).data ?? null);
}

/** The first day of the scope, in UTC. */
export function firstDay(sinceDays: number | null, now = Date.now()): string | null {
  return sinceDays === null ? null : new Date(now - sinceDays * 86_400_000).toISOString().slice(0, 10);
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
