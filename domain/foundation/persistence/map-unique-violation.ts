import { UniqueConstraintViolationException } from '@mikro-orm/core';
import { DomainError } from '#domain/foundation/kernel/errors.ts';

/** For a flush that inserts a unique value: of two concurrent ones only the database can tell which came first. */
export function mapUniqueViolation(message: string, param: string): (error: unknown) => never {
  return (error) => {
    throw error instanceof UniqueConstraintViolationException
      ? new DomainError('already_exists', message, { param })
      : error;
  };
}
