import { UniqueConstraintViolationException } from '@mikro-orm/core';
import { DomainError } from '#domain/kernel/errors.ts';

/**
 * For `catch` behind a write: only the database can tell that a name is taken when two ask for it at once.
 * @throws `already_exists` with `message`, or the error as it is when it is another
 */
export function unlessDuplicate(param: string, message: string): (error: unknown) => never {
  return (error) => {
    throw error instanceof UniqueConstraintViolationException
      ? new DomainError('already_exists', message, { param }, { cause: error })
      : error;
  };
}
