import { extendBorders, extended, GrowingSearch } from './growing-search.ts';

/** Min length of a match that counts as a repeat; shorter matches happen by chance. */
const MIN_MATCH = 16;
/** White space that a model may put before a repeat; from this length on it counts as new text. */
const MAX_LEADING_SPACE = 512;
/**
 * From this length on, held text is judged each time it has grown by a sixteenth: a judgement costs as much as the
 * text is long.
 */
const MAX_JUDGED_EACH_TIME = 1_024;

/** What the new text repeats: the whole prefix, its end, or nothing. */
export type Matched = 'whole_prefix' | 'overlap' | 'none';

/**
 * - `hold`: nothing may be published yet.
 * - `append`: publish `text` (perhaps empty) behind the prefix.
 * - `restart`: the model gives another answer; close the partial item and publish `text` in a new one.
 */
export type Decision =
  | { kind: 'hold' }
  | { kind: 'append'; text: string; matched: Matched }
  | { kind: 'restart'; text: string };

type Verdict = { kind: 'open' } | { kind: 'match'; drop: number; matched: Matched } | { kind: 'restart' };

const OPEN: Verdict = { kind: 'open' };

/**
 * The prefix as a model must be shown it: without white space at its end. Vendors refuse or trim that white space, so
 * the model writes it again, and the matcher removes the part that readers have from the start of the new text. If
 * the model were shown the white space too, a second, equal one would look like a repeat.
 */
export function shownPrefix(prefix: string): string {
  return prefix.trimEnd();
}

/**
 * Joins a model's new text to the prefix that readers already have, after `shownPrefix(prefix)` was sent to it. Text
 * is held only while it repeats some part of the prefix (or opens with white space); the first character that no case
 * explains decides. In this order:
 * 1. starts with the whole prefix: that is dropped;
 * 2. the prefix's end and the text's start have at least 16 characters in common: the longest such run is dropped;
 * 3. the text and the prefix (without white space before it) begin with the same 16 or more characters, and then they
 *    differ or the text ends: restart;
 * 4. else it is new and appended.
 * White space before a repeat of 16 or more characters is dropped with it. Text that opens with white space is never
 * a restart: it is a next sentence, line or row that opens like the first. White space at the prefix's end stays: of
 * the white space behind a dropped repeat (or at the start of new text), the longest run that equals the beginning or
 * the end of the prefix's white space is removed. The result does not depend on how the text is cut into pushes.
 */
export class ContinuationMatcher {
  readonly #prefix: string;
  readonly #shown: string;
  readonly #space: string;
  /** Whether the held text, also without the white space before it, may still reach the prefix's end. */
  readonly #search: GrowingSearch;
  readonly #searchBehind: GrowingSearch;
  #held = '';
  /** Min length at which the held text is judged again. */
  #judgedFrom = 0;
  #matched: Matched | undefined;

  constructor(prefix: string) {
    this.#prefix = prefix;
    this.#shown = shownPrefix(prefix);
    this.#space = prefix.slice(this.#shown.length);
    this.#search = new GrowingSearch(prefix);
    this.#searchBehind = new GrowingSearch(prefix);
    if (prefix === '') this.#matched = 'none';
  }

  /** Adds the next piece of the model's text. After the first decision every piece is appended unchanged. */
  push(delta: string): Decision {
    if (this.#matched !== undefined) return { kind: 'append', text: delta, matched: this.#matched };
    this.#held += delta;
    return this.#held.length < this.#judgedFrom ? { kind: 'hold' } : this.#decide(false);
  }

  /** The model's text is complete: decides on the held text, never `hold`. */
  end(): Decision {
    if (this.#matched !== undefined) return { kind: 'append', text: '', matched: this.#matched };
    return this.#decide(true);
  }

  #decide(ended: boolean): Decision {
    const verdict = this.#judge(ended);
    if (verdict.kind === 'open') {
      this.#judgedFrom = this.#nextJudged(this.#held.length);
      return { kind: 'hold' };
    }
    const text = this.#held;
    this.#held = '';
    if (verdict.kind === 'restart') {
      this.#matched = 'none';
      return { kind: 'restart', text };
    }
    this.#matched = verdict.matched;
    return { kind: 'append', text: text.slice(verdict.drop), matched: verdict.matched };
  }

  /** Judges at once at the end of a whole repeat: the text after it is new. */
  #nextJudged(length: number): number {
    if (length < MAX_JUDGED_EACH_TIME) return 0;
    const later = length + length / 16;
    return length < this.#shown.length ? Math.min(later, this.#shown.length) : later;
  }

  #judge(ended: boolean): Verdict {
    const text = this.#held;
    const direct = this.#repeat(text, this.#search, { ended, minLength: 1 });
    if (direct !== undefined) return direct;
    const leading = text.length - text.trimStart().length;
    if (leading > 0 && leading < MAX_LEADING_SPACE) {
      const behind = this.#repeat(text.slice(leading), this.#searchBehind, { ended, minLength: MIN_MATCH });
      if (behind?.kind === 'match') return { ...behind, drop: leading + behind.drop };
      if (behind?.kind === 'open') return behind;
    }
    return this.#dropSpace(text, { at: 0, matched: 'none', ended });
  }

  /**
   * How `text` repeats the prefix; undefined if it does not. `minLength` is the min length of a whole prefix to
   * recognise.
   */
  #repeat(
    text: string,
    search: GrowingSearch,
    { ended, minLength }: { ended: boolean; minLength: number },
  ): Verdict | undefined {
    if (this.#shown.length >= minLength && text.startsWith(this.#shown)) {
      return this.#dropSpace(text, { at: this.#shown.length, matched: 'whole_prefix', ended });
    }
    if (!ended && search.occursBeforeEnd(text)) return OPEN;
    const shown = overlap(this.#shown, text);
    if (shown > 0) return this.#dropSpace(text, { at: shown, matched: 'overlap', ended });
    const whole = overlap(this.#prefix, text);
    if (whole > 0) return { kind: 'match', drop: whole, matched: 'overlap' };
    const atOnce = text.trimStart() === text;
    if (atOnce && commonStart(this.#prefix.trimStart(), text) >= MIN_MATCH) return { kind: 'restart' };
    return undefined;
  }

  #dropSpace(
    text: string,
    { at, matched, ended }: { at: number; matched: Matched; ended: boolean },
  ): Verdict {
    const rest = text.slice(at, at + this.#space.length);
    const undecided = rest.length < this.#space.length && rest.trim() === '';
    if (undecided && !ended) return OPEN;
    const taken = Math.max(commonStart(this.#space, rest), overlap(this.#space, rest, 1));
    return { kind: 'match', drop: at + taken, matched };
  }
}

/**
 * Length of the longest end of `prefix` that `text` starts with; 0 below `minLength`. Linear time (Knuth, Morris and
 * Pratt): both texts are a model's, which may repeat itself without end.
 */
function overlap(prefix: string, text: string, minLength = MIN_MATCH): number {
  const limit = Math.min(prefix.length, text.length);
  if (limit < minLength) return 0;
  const borders: number[] = [];
  extendBorders(text, borders, limit);
  let length = 0;
  for (let at = prefix.length - limit; at < prefix.length; at += 1) {
    length = extended(text, borders, { length, by: prefix.charCodeAt(at) });
  }
  return length >= minLength ? length : 0;
}

function commonStart(a: string, b: string): number {
  let length = 0;
  while (length < a.length && length < b.length && a[length] === b[length]) length += 1;
  return length;
}

/**
 * Splits `text` so that `ready` never ends in half a surrogate pair; `rest` is that half, to be prepended to the next
 * text.
 */
export function splitAtCodePoint(text: string): { ready: string; rest: string } {
  const last = text.charCodeAt(text.length - 1);
  const boundary = last >= 0xd800 && last <= 0xdbff ? text.length - 1 : text.length;
  return { ready: text.slice(0, boundary), rest: text.slice(boundary) };
}
