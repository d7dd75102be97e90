import type { Page } from '#domain/foundation/kernel/page.ts';

/** A keyset page in the contract's list envelope. */
export function toPage<T>(page: Page<T>): {
  data: T[];
  meta: { next_cursor: string | null; has_more: boolean };
} {
  return { data: page.items, meta: { next_cursor: page.nextCursor, has_more: page.nextCursor !== null } };
}
