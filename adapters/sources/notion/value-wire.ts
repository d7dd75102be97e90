import { z } from 'zod';

/** Texts and lists without a bound of their own are bounded by the bytes of a response. */
export const richText = z.array(
  z.object({ plain_text: z.string(), type: z.string().optional(), href: z.string().nullish() }),
);
export type RichText = z.output<typeof richText>;

/** The type is optional by the documentation. */
export const property = z.looseObject({ type: z.string().default('') });
export type Property = z.output<typeof property>;
