import { ForeignKeyConstraintViolationException } from '@mikro-orm/core';
import { notFound } from '#domain/kernel/errors.ts';

/** For rows of something that somebody may be deleting: of two at once only the database can tell which came first. */
export function refuseGone(code: Parameters<typeof notFound>[0]): (error: unknown) => never {
  return (error) => {
    throw error instanceof ForeignKeyConstraintViolationException ? notFound(code) : error;
  };
}
