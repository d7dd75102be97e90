import { TooBusy } from '#domain/foundation/kernel/fair-semaphore.ts';

/**
 * The database is unavailable, overloaded, or aborted this transaction in favour of another: the caller may retry.
 */
export function isDatabaseUnavailable(error: unknown): boolean {
  for (let cause = error, depth = 0; cause instanceof Error && depth < 5; cause = cause.cause, depth += 1) {
    if (cause instanceof TooBusy) {
      return true;
    }
    const code = 'code' in cause && typeof cause.code === 'string' ? cause.code : '';
    const connection =
      /^(08|53|57P0)|^(40001|40P01|57014|55P03|25P03|ECONNREFUSED|ECONNRESET|EPIPE|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|EAI_AGAIN)$/.test(
        code,
      );
    if (
      connection ||
      /connection (terminated|timeout)|timeout exceeded when trying to connect|is not queryable|timeout expired/i.test(
        cause.message,
      )
    ) {
      return true;
    }
  }
  return false;
}
