import { z } from 'zod';

const results = z.object({
  results: z.array(
    z.object({
      label: z.string(),
      heading: z.string().nullable(),
      text: z.string(),
      score: z.number().default(0),
    }),
  ),
  mode: z.enum(['keyword', 'hybrid']).default('keyword'),
});

/** A passage of a search result. */
export type Finding = z.infer<typeof results>['results'][number] & {
  /** Whether meaning counted in the search. */
  byMeaning: boolean;
};

/** @returns null when no result could be read: every search failed. */
export function readFindings(texts: string[]): Finding[] | null {
  const read = texts.flatMap((text) => {
    const parsed = results.safeParse(parse(text));
    const { data } = parsed;
    return data === undefined
      ? []
      : [data.results.map((result) => ({ ...result, byMeaning: data.mode === 'hybrid' }))];
  });
  return read.length === 0 ? null : read.flat();
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
