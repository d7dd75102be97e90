import { z } from 'zod';
import { responseStatuses } from '#domain/responses/response-status.ts';
import { uuid } from './common.ts';

/** Inputs of the procedures: JSON, where the routes have text in paths and queries. */

const pageInput = {
  limit: z.int().min(1).max(100).default(20),
  cursor: z.string().min(1).max(500).nullish(),
};

export const listInput = z.strictObject(pageInput);
export const spaceListInput = z.strictObject({ space_id: uuid, ...pageInput });
export const listResponsesInput = spaceListInput.extend({ status: z.enum(responseStatuses).nullish() });
