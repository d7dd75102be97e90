/** A statement was cancelled, or did not get its lock in time. */
export const isTimeout = (error: unknown): boolean => hasState(error, ['57014', '55P03']);

/** Another row still refers to the deleted one. */
export const isReferred = (error: unknown): boolean => hasState(error, ['23503', '23001']);

function hasState(error: unknown, states: readonly string[]): boolean {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if ('code' in cause && typeof cause.code === 'string' && states.includes(cause.code)) return true;
  }
  return false;
}
