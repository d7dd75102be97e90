import type { Caller } from './caller.ts';

/** The space that the caller was admitted to. A call outside a space is a programming error. */
export function spaceOf(caller: Caller): string {
  if (caller.spaceId === null) {
    throw new Error('This operation needs a caller of a space.');
  }
  return caller.spaceId;
}
