import { ForeignKeyConstraintViolationException } from '@mikro-orm/core';
import { notFound } from '#domain/foundation/kernel/errors.ts';

/**
 * For rows that refer to a resource which may be deleted concurrently: only the database can order the two.
 * @param foreignKey name of the constraint; a violation of any other one is a defect and is rethrown.
 */
export function mapForeignKeyViolation(
  code: Parameters<typeof notFound>[0],
  foreignKey: string,
): (error: unknown) => never {
  return (error) => {
    const isGone =
      error instanceof ForeignKeyConstraintViolationException &&
      // The ORM copies the driver's fields to its error, untyped.
      (error as { constraint?: unknown }).constraint === foreignKey;
    throw isGone ? notFound(code) : error;
  };
}
