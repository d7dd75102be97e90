import { createHash } from 'node:crypto';

/** The handling of the published prefix in a request by a scripted model. */
export type Manner = 'honours_prefix' | 'restarts' | 'overlaps' | 'diverges' | 'refuses_trailing_assistant';

/**
 * One scripted failure. Without `onAttempt` it applies to every attempt, without `onRound` to every turn (0
 * is the first model call of a response, `toolRounds` the last one). Attempts count from 1 per turn.
 * `status` answers with an error object, `hang` never answers, the others stream pieces up to that many
 * characters: then the socket is destroyed, an error object is sent inside the stream, or the stream stays
 * silent.
 */
export type Failure = { onAttempt?: number; onRound?: number } & (
  | { status: number; retryAfterSeconds?: number; code?: string; message?: string }
  | { hang: true }
  | { dropAfterChars: number }
  | { errorAfterChars: number }
  | { hangAfterChars: number }
);

export interface Usage {
  prompt_tokens: number;
  completion_tokens: number;
}

export interface Script {
  name: string;
  /** How many rounds call `knowledge_search`, if it is offered, before the answer. */
  toolRounds?: number;
  /** The queries, one per round (the last one repeats); without it the last user text. */
  toolQuery?: string | string[];
  /**
   * The number of concurrent calls in each round, for the queries from the round's own on; one by default.
   */
  callsPerRound?: number[];
  /** Calls of any tool, offered or not, one list per round; used instead of the searches above. */
  calls?: { name: string; arguments: object | string }[][];
  /** Text before each call, in the same turn. */
  commentary?: string;
  /** The answer. */
  text: string;
  /**
   * Answer with all text of users and tools; `$user` in the arguments of a call stands for the last user text, and
   * arguments that are `$user` alone are that text.
   */
  echo?: true;
  /** The answer of `diverges` once it sees a prefix. */
  alternateText?: string;
  tokenDelayMs?: number;
  /** Splits into pieces of 1 to 12 UTF-16 units; each attempt splits differently. */
  seed?: number;
  manner?: Manner;
  fail?: Failure[];
  finishReason?: 'stop' | 'length' | 'content_filter';
  /** Without it: one token per four characters. */
  usage?: Usage;
}

/** Characters of the prefix that `overlaps` repeats. */
export const OVERLAP = 40;

export type Source = 'text' | 'alternate' | 'commentary';

/**
 * The text that a manner streams when it sees `prefix` (null: a fresh request), and the offset of its first
 * piece.
 */
export function chooseText(
  script: Script,
  target: { source: 'text' | 'commentary'; prefix: string | null },
): { source: Source; from: number; text: string } {
  const { prefix, source } = target;
  const whole = source === 'text' ? script.text : (script.commentary ?? '');
  if (prefix === null) return { source, from: 0, text: whole };
  if (script.manner === 'diverges' && source === 'text') {
    return { source: 'alternate', from: 0, text: script.alternateText ?? whole };
  }
  // A foreign prefix cannot be continued: repeat the whole text, like a real model.
  const from = whole.startsWith(prefix) ? startFor(script.manner ?? 'honours_prefix', whole, prefix) : 0;
  return { source, from, text: whole.slice(from) };
}

function startFor(manner: Manner, whole: string, prefix: string): number {
  if (manner === 'restarts') return 0;
  if (manner !== 'overlaps') return prefix.length;
  const from = Math.max(0, prefix.length - OVERLAP);
  return splitsPair(whole, from) ? from - 1 : from;
}

/** Refuses scripts whose manner could not be distinguished from another one. */
export function checkScript(script: Script): Script {
  if (script.manner === 'diverges') {
    const { text, alternateText = '' } = script;
    const shares = text.length > 16 && alternateText.startsWith(text.slice(0, 16));
    if (!shares || text.startsWith(alternateText) || alternateText.startsWith(text)) {
      throw new Error(`script ${script.name}: alternateText must share 16 characters with text, then differ`);
    }
  }
  return script;
}

/**
 * Splits `text` into pieces of 1 to 12 UTF-16 units, never inside a surrogate pair, the same way for the same
 * seed.
 */
export function splitPieces(text: string, seed: number): string[] {
  const random = mulberry32(seed);
  const pieces: string[] = [];
  for (let at = 0; at < text.length;) {
    let end = Math.min(text.length, at + 1 + Math.floor(random() * 12));
    if (splitsPair(text, end)) end += end - at < 12 ? 1 : -1;
    pieces.push(text.slice(at, end));
    at = end;
  }
  return pieces;
}

function splitsPair(text: string, at: number): boolean {
  return at > 0 && at < text.length && /^[\uD800-\uDBFF][\uDC00-\uDFFF]$/.test(text.slice(at - 1, at + 1));
}

/** A seed from any text, so that a script needs none of its own. */
export function seedOf(text: string): number {
  return createHash('sha256').update(text).digest().readUInt32LE(0);
}

/** A small seeded generator of numbers from 0 to 1. */
export function mulberry32(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
