import { DomainError } from '#domain/foundation/kernel/errors.ts';

/** A reader's cursor in `Last-Event-ID`: `<response_id>:<n>`, or a bare number. */
export interface EventCursor {
  responseId: string | null;
  n: number;
}

/** @throws `invalid_cursor` */
export function parseLastEventId(text: string): EventCursor {
  const match = /^(?:([A-Za-z0-9_]{1,100}):)?(\d{1,9})$/.exec(text);
  if (match === null) {
    throw invalidCursor();
  }
  return { responseId: match[1] ?? null, n: Number(match[2]) };
}

export function invalidCursor(): DomainError {
  return new DomainError('invalid_cursor', 'The cursor does not belong to this response.', {
    param: 'Last-Event-ID',
  });
}
