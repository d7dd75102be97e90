import { z } from 'zod';

/** Where a batch begins, and how many rows it has. */
export interface Place {
  /** The key of the last row of the batch before; null at the beginning. */
  after: string[] | null;
  size: number;
}

/** Small enough for the widest rows: the size doubles while there is time. */
export const firstPlace: Place = { after: null, size: 32 };

const placeSchema = z.strictObject({ after: z.array(z.string()).nullable(), size: z.int().positive() });

export const readPlace = (cursor: string): Place => placeSchema.parse(JSON.parse(cursor));

export const writePlace = (place: Place): string => JSON.stringify(place);
