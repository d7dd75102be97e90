import { hasSqlState } from '#domain/foundation/persistence/sql-state.ts';

/** A statement was cancelled, or did not get its lock in time. */
export const isTimeout = (error: unknown): boolean => hasSqlState(error, ['57014', '55P03']);

/** Another row still refers to the deleted one. */
export const isReferred = (error: unknown): boolean => hasSqlState(error, ['23503', '23001']);
