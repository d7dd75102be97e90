import { z } from 'zod';

/** Where a batch begins, and how many rows it has. */
export interface Place {
  /** The key of the last row of the batch before; null at the beginning. */
  after: string[] | null;
  size: number;
  /** Whether this pass had to leave rows that others refer to, so that another follows; and rows that it erased. */
  left: boolean;
  erased: number;
}

/** Small enough for the widest rows: the size grows while there is time. */
export const firstPlace: Place = { after: null, size: 64, left: false, erased: 0 };

const placeSchema = z.strictObject({
  after: z.array(z.string()).nullable(),
  size: z.int().positive(),
  left: z.boolean(),
  erased: z.int().nonnegative(),
});

export const readPlace = (cursor: string): Place => placeSchema.parse(JSON.parse(cursor));

export const writePlace = (place: Place): string => JSON.stringify(place);
