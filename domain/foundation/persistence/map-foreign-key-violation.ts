import { ForeignKeyConstraintViolationException } from '@mikro-orm/core';
import { notFound } from '#domain/foundation/kernel/errors.ts';

/**
 * For rows of something that somebody may be deleting: of two at once only the database can tell which came first.
 * @param foreignKey of the row, by its name; what else it refers to and is not there is a defect and stays one.
 */
export function mapForeignKeyViolation(
  code: Parameters<typeof notFound>[0],
  foreignKey: string,
): (error: unknown) => never {
  return (error) => {
    const isGone =
      error instanceof ForeignKeyConstraintViolationException &&
      // The driver's own fields are copied to it, untyped.
      (error as { constraint?: unknown }).constraint === foreignKey;
    throw isGone ? notFound(code) : error;
  };
}
