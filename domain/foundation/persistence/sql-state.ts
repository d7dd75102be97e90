/** Whether an error of the database, or a cause of it, has one of these SQL states. */
export function hasSqlState(error: unknown, states: readonly string[]): boolean {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if ('code' in cause && typeof cause.code === 'string' && states.includes(cause.code)) {
      return true;
    }
  }
  return false;
}

/** A statement did not get its lock within `lock_timeout`. */
export const isLockTimeout = (error: unknown): boolean => hasSqlState(error, ['55P03']);
