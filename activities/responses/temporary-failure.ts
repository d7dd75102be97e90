import { isDatabaseUnavailable } from '#domain/foundation/persistence/is-unavailable.ts';

/** The recogniser of names was busy, could not be reached or gave no valid answer, several times in a row. */
export class RecogniserUnavailable extends Error {
  constructor(cause: unknown) {
    super('The recogniser of names is unavailable.', { cause });
    this.name = 'RecogniserUnavailable';
  }
}

/**
 * A state of a service that passes: the recogniser of names or the database is unavailable, or there was no turn at the
 * database or at the threads for long texts in time.
 */
export function isTemporary(error: unknown): boolean {
  return error instanceof RecogniserUnavailable || isDatabaseUnavailable(error);
}
