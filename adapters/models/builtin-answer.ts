import type { Finding } from './builtin-findings.ts';
import { readableSentences } from './builtin-sentences.ts';

export interface CitedSentence {
  text: string;
  /** Citation label such as `[1]`. */
  label: string;
}

interface Candidate extends CitedSentence {
  words: Set<string>;
  /** Words of the headings above the passage: they describe its topic, so they count in part. */
  context: Set<string>;
}

const max = 5;
const min = 3;
/** Min share of the question's weight in the best sentence. */
const minOverlap = 0.25;
/**
 * Min score of a passage that is quoted for its meaning alone. A passage without a word of the question scores its
 * nearness by the weight of the vectors.
 */
const minNearness = 0.33;
/** Share of the best score that a sentence beyond the first three needs. */
const near = 0.6;
const contextShare = 0.5;

const stopWords = new Set(
  `a about after all also an and any are as at be been before being but by can could did do does for from had has
  have he her his how i if in into is it its me more most my no not of on one or our out over please she should so some
  such tell than that the their them then there these they this those to under up us was we were what when where which
  while who whom whose why will with would you your`.split(/\s+/),
);

/**
 * The three to five sentences with the largest share of the question's words. A word weighs more the fewer sentences
 * have it. Equal sentences keep the order of the search. Where no sentence shares words with the question, but a
 * passage is near to it by meaning, the first sentences of the nearest.
 * @returns none when nothing matches the question.
 */
export function extractAnswer(question: string, findings: Finding[]): CitedSentence[] {
  const asked = [...wordsOf(question)];
  const candidates = findCandidates(findings);
  const weights = weigh(asked, candidates);
  const ranked = candidates
    .map((candidate, place) => ({ candidate, place, overlap: overlapOf(candidate, weights) }))
    .filter(({ overlap }) => overlap > 0)
    .sort((a, b) => b.overlap - a.overlap || a.place - b.place);
  const best = ranked[0]?.overlap ?? 0;
  if (best < minOverlap) {
    return nearestByMeaning(findings);
  }
  return ranked
    .slice(0, max)
    .filter(({ overlap }, index) => index < min || overlap >= near * best)
    .map(({ candidate: { text, label } }) => ({ text, label }));
}

function nearestByMeaning(findings: Finding[]): CitedSentence[] {
  const [nearest] = findings
    .filter(({ byMeaning, score }) => byMeaning && score >= minNearness)
    .toSorted((a, b) => b.score - a.score);
  return nearest === undefined
    ? []
    : readableSentences(nearest.text)
        .slice(0, min)
        .map((text) => ({ text, label: nearest.label }));
}

function findCandidates(findings: Finding[]): Candidate[] {
  const byText = new Map<string, Candidate>();
  for (const { label, heading, text: passage } of findings) {
    const context = wordsOf(heading ?? '');
    for (const text of readableSentences(passage)) {
      if (!byText.has(text)) {
        byText.set(text, { text, label, words: wordsOf(text), context });
      }
    }
  }
  return [...byText.values()];
}

function weigh(asked: string[], candidates: Candidate[]): Map<string, number> {
  const total = candidates.length;
  return new Map(
    asked.map((word) => {
      const having = candidates.filter(({ words }) => words.has(word)).length;
      return [word, having === 0 ? 1 : 1 + Math.log((total + 1) / (having + 1))];
    }),
  );
}

function overlapOf({ words, context }: Candidate, weights: Map<string, number>): number {
  let shared = 0;
  let whole = 0;
  for (const [word, weight] of weights) {
    whole += weight;
    if (words.has(word)) {
      shared += weight;
    } else if (context.has(word)) {
      shared += contextShare * weight;
    }
  }
  return whole === 0 ? 0 : shared / whole;
}

function wordsOf(text: string): Set<string> {
  const words = text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
  return new Set(words.filter((word) => !stopWords.has(word)).map(stem));
}

/** Strips the commonest English endings, so that `painted` matches `paint` and `harbours` matches `harbour`. */
function stem(word: string): string {
  const short = word
    .replace(/(?<=\p{L}{3})(?:ies|ied)$/u, 'y')
    .replace(/(?<=\p{L}{3})(?:ing|ed|es|s|ly)$/u, '');
  return short.replace(/(?<=\p{L}{3})e$/u, '').replace(/(?<=\p{L}{2})([bdgmnprt])\1$/u, '$1');
}
