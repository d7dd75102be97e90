/** The SQL states of a cancelled statement and of a lock that was not had in time. */
const timeouts = new Set(['57014', '55P03']);

export function isTimeout(error: unknown): boolean {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if ('code' in cause && typeof cause.code === 'string' && timeouts.has(cause.code)) return true;
  }
  return false;
}
