import { z } from 'zod';
import type { ErasureStep } from './erasure-step.ts';

/** Where a batch begins, and how many rows it has. */
export interface Place {
  /** The key of the last row of the batch before; null at the beginning. */
  after: string[] | null;
  size: number;
  /** What a row costs, in milliseconds; null: unknown yet. */
  rowMs: number | null;
  /** Whether this pass had to leave rows that others refer to, so that another follows; and rows that it erased. */
  left: boolean;
  erased: number;
}

/** Few, whatever a row costs: the size grows while there is time. */
export const firstPlace: Place = { after: null, size: 4, rowMs: null, left: false, erased: 0 };

const placeSchema = z.strictObject({
  after: z.array(z.string()).nullable(),
  size: z.int().positive(),
  rowMs: z.number().positive().nullable(),
  left: z.boolean(),
  erased: z.int().nonnegative(),
});

/** Of a table with one row of a tenant at most, that row. */
export const firstPlaceOf = ({ key }: ErasureStep): Place =>
  key.length === 0 ? { ...firstPlace, size: 1 } : firstPlace;

/** For a batch that took too long. */
export const halved = (place: Place): Place => ({
  ...place,
  size: Math.max(1, Math.floor(place.size / 2)),
  rowMs: place.rowMs === null ? null : place.rowMs * 2,
});

export const readPlace = (cursor: string): Place => placeSchema.parse(JSON.parse(cursor));

export const writePlace = (place: Place): string => JSON.stringify(place);
