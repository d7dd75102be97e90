import { sliceByTokens } from 'tokenx';
import { estimateTokens } from '#domain/foundation/kernel/estimate-tokens.ts';

/** Below the vendors' limits of one request, since tokens are estimated. */
const maxBatchTokens = 100_000;

/** Part of the max tokens that a truncated text has by the estimate, for the same reason. */
const safety = 0.75;

/** Truncates texts and groups them for requests, in their order. */
export function batchesOf(
  texts: readonly string[],
  { maxTexts, maxTokens }: { maxTexts: number; maxTokens: number },
): string[][] {
  const batches: string[][] = [];
  let batch: string[] = [];
  let batchTokens = 0;
  for (const text of texts) {
    const { text: truncated, tokens } = truncate(text, maxTokens);
    if (batch.length > 0 && (batch.length >= maxTexts || batchTokens + tokens > maxBatchTokens)) {
      batches.push(batch);
      batch = [];
      batchTokens = 0;
    }
    batch.push(truncated);
    batchTokens += tokens;
  }
  return batch.length === 0 ? batches : [...batches, batch];
}

/** Most units of a token, so that the estimate of a huge text stays cheap. */
const maxUnitsPerToken = 40;

function truncate(given: string, maxTokens: number): { text: string; tokens: number } {
  const text = given.slice(0, maxTokens * maxUnitsPerToken);
  const tokens = estimateTokens(text);
  const limit = Math.floor(maxTokens * safety);
  return tokens <= limit ? { text, tokens } : { text: sliceByTokens(text, 0, limit), tokens: limit };
}
