import { z } from 'zod';
import { uuid } from './common.ts';
import { addModelInput, updateModelInput } from './procedures.ts';

export const modelParams = z.strictObject({ model_id: uuid });
export const addModelBody = addModelInput;
export const updateModelBody = updateModelInput.omit({ alias: true }).extend({
  disabled: z.boolean().optional().meta({ description: 'true: no new response may use it.' }),
});
