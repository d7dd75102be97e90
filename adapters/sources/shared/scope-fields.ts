import { z } from 'zod';

/**
 * @param otherwise what a run lists while the last complete listing is recent
 * @param deletions how these are found
 */
export function relistHours(otherwise: string, deletions = 'Deletions are found by complete listings only.') {
  return z
    .int()
    .min(0)
    .max(720)
    .default(24)
    .describe(
      `A run lists everything when the last complete listing is older than so many hours, and ${otherwise} otherwise. ${deletions} 0: each run.`,
    );
}

/** @param things what the source calls its documents */
export function maxDocuments(
  things: string,
  { max = 200_000, preset = 50_000 }: { max?: number; preset?: number } = {},
) {
  return z
    .int()
    .min(1)
    .max(max)
    .default(preset)
    .describe(`The listing ends after so many ${things}; then nothing counts as deleted.`);
}
