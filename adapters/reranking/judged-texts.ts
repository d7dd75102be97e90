import { sliceByTokens } from 'tokenx';
import { estimateTokens } from '#domain/foundation/kernel/estimate-tokens.ts';

/** Max units of a passage: a request has some 100 of them. */
const maxUnits = 4_000;
/** Part of the max tokens that a truncated text has, since tokens are estimated. */
const safety = 0.75;

/** A question and its passages, truncated so that each pair fits into the model. */
export function judgedTexts(
  question: string,
  passages: readonly string[],
  maxTokens: number,
): { question: string; passages: string[] } {
  const room = Math.floor(maxTokens * safety);
  const asked = truncate(question, Math.floor(room / 2));
  const left = room - estimateTokens(asked);
  return { question: asked, passages: passages.map((passage) => truncate(passage, left)) };
}

function truncate(given: string, maxTokens: number): string {
  const text = given.length <= maxUnits ? given : given.slice(0, maxUnits).replace(/[\ud800-\udbff]$/u, '');
  // By this estimate only signs have more tokens than units: most texts need none.
  return (text.length <= maxTokens && !/\p{S}/u.test(text)) || estimateTokens(text) <= maxTokens
    ? text
    : sliceByTokens(text, 0, maxTokens);
}
