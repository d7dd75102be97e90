import type { Secrets } from '#domain/foundation/kernel/secrets.ts';
import { isHidden } from '#domain/foundation/kernel/hidden-text.ts';
import { withoutOverlaps, recognise, type Search } from '#domain/governance/recognition/recognise.ts';
import type { Finding } from '#domain/governance/recognition/pii-kinds.ts';
import { tokenOf, tokenPattern, type TokenKind } from './pii-tokens.ts';

/** The value behind one token. */
export interface PiiEntry {
  token: string;
  type: TokenKind;
  /** Number of occurrences. */
  count: number;
  value: string;
  /** The value as written in its JSON document, if escapes made it different. */
  written?: string;
  /** A number of a JSON document. The token replaces it as a string, and is restored without its quotes. */
  bare?: true;
}

/** Findings of a recogniser service in one text. */
export type NameFinder = (text: string) => readonly Finding[];

export interface RedactOptions extends Search {
  secrets: Pick<Secrets, 'mac'>;
  /** The conversation of the tokens. */
  scope: string;
  /**
   * How text that looks like a token is treated. `mine`: as a token, because the platform wrote it, or it repeats
   * such text. `foreign`: as user text, which gets a token itself, so that it is restored unchanged.
   */
  tokens: 'mine' | 'foreign';
  names?: NameFinder | undefined;
}

/** Replaces personal data in texts with tokens and records the values. */
export class Redactor {
  readonly #options: RedactOptions;
  /** By kind and written text, of a number of JSON with `=` before it. */
  readonly #entries = new Map<string, PiiEntry>();

  constructor(options: RedactOptions) {
    this.#options = options;
  }

  get entries(): PiiEntry[] {
    return [...this.#entries.values()];
  }

  /** Redacts plain text. */
  text(text: string): string {
    return this.#replace(text, this.#find(text));
  }

  /** Redacts a text that may be JSON: values stay in their place, and valid JSON remains valid. */
  maybeJson(text: string): string {
    return isJson(text) ? this.#replace(text, this.#findInJson(text)) : this.text(text);
  }

  /** Redacts every string of a JSON value; names of members stay. */
  value<T>(value: T): T {
    return mapStrings(value, (text) => this.text(text));
  }

  #find(text: string): Place[] {
    const { tokens, names, kinds } = this.#options;
    const marks = [...text.matchAll(tokenPattern())].map((match) => ({
      kind: 'text' as const,
      start: match.index,
      end: match.index + match[0].length,
    }));
    const named = kinds.includes('person') ? (names?.(text) ?? []) : [];
    const found = withoutOverlaps([...recognise(text, this.#options), ...named]);
    const apart = apartFrom(found, marks);
    return (tokens === 'mine' ? apart : [...apart, ...marks]).toSorted((a, b) => a.start - b.start);
  }

  /**
   * Strings are searched in decoded form and replaced in written form, escapes included; the rest is searched as
   * text.
   */
  #findInJson(text: string): Place[] {
    const found: Place[] = [];
    let from = 0;
    const plain = (end: number) => {
      // A comma separates two numbers here; elsewhere it may belong to one.
      const gap = text.slice(from, end).replaceAll(',', ';');
      const numbers = /\d{7}/.test(gap) ? this.#find(gap).map((each) => wholeNumber(gap, each, from)) : [];
      found.push(...numbers.filter(({ start }, i) => i === 0 || start >= (numbers[i - 1]?.end ?? 0)));
    };
    for (const match of text.matchAll(stringLiteral)) {
      plain(match.index);
      from = match.index + match[0].length;
      const { decoded, offsets } = decode(match[0].slice(1, -1));
      for (const { kind, start, end } of this.#find(decoded)) {
        const at = match.index + 1;
        const value = decoded.slice(start, end);
        found.push({ kind, start: at + (offsets[start] ?? 0), end: at + (offsets[end] ?? 0), value });
      }
    }
    plain(text.length);
    return found;
  }

  #replace(text: string, found: readonly Place[]): string {
    let out = '';
    let from = 0;
    for (const place of found) {
      out += text.slice(from, place.start) + this.#tokenFor(place, text.slice(place.start, place.end));
      from = place.end;
    }
    return out + text.slice(from);
  }

  #tokenFor({ kind, value, bare }: Place, written: string): string {
    // A number and a string with the same digits need different tokens, because they are restored differently.
    const meant = bare === true ? `=${written}` : written;
    const key = `${kind} ${meant}`;
    const entry = this.#entries.get(key) ?? {
      token: tokenOf(this.#options.secrets, this.#options.scope, { kind, value: meant }),
      type: kind,
      count: 0,
      value: value ?? written,
      ...(value === undefined || value === written ? {} : { written }),
      ...(bare === true ? { bare } : {}),
    };
    entry.count += 1;
    this.#entries.set(key, entry);
    return bare === true ? `"${entry.token}"` : entry.token;
  }
}

interface Place {
  kind: TokenKind;
  start: number;
  end: number;
  /** Omitted: the text of the range. */
  value?: string;
  /** A number of a JSON document. */
  bare?: true;
}

/** Findings that overlap no mark. Both are in order. */
function apartFrom(found: readonly Finding[], marks: readonly Place[]): Finding[] {
  let next = 0;
  return found.filter(({ start, end }) => {
    while ((marks[next]?.end ?? Infinity) <= start) next += 1;
    return end <= (marks[next]?.start ?? Infinity);
  });
}

/** Extends a finding between the strings of a JSON document to the number that contains it. */
function wholeNumber(gap: string, { kind, start, end }: Place, offset: number): Place {
  let [from, to] = [start, end];
  while (ofNumber.has(gap.charAt(from - 1))) from -= 1;
  while (ofNumber.has(gap.charAt(to))) to += 1;
  return { kind, start: offset + from, end: offset + to, bare: true };
}

const ofNumber: ReadonlySet<string> = new Set('0123456789+-.eE');

const stringLiteral = /"(?:[^"\\]|\\[^])*(?:"|\\?$)/g;

function isJson(text: string): boolean {
  if (!/^\s*[{["]/.test(text)) {
    return false;
  }
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** A character of a literal; one beyond the first 65,536 may be written as two escapes of six characters. */
const character =
  /\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\(?:u[0-9a-fA-F]{4}|.)|[^\\]/gs;

/**
 * The decoded text of a literal without hidden characters that are written as escapes, which would hide personal data;
 * and the offset of each of its units in the literal, one more for the end.
 */
function decode(literal: string): { decoded: string; offsets: number[] } {
  if (!literal.includes('\\')) {
    return { decoded: literal, offsets: Array.from({ length: literal.length + 1 }, (_, i) => i) };
  }
  let decoded = '';
  const offsets: number[] = [];
  for (const { 0: form, index } of literal.matchAll(character)) {
    const text = form.length === 1 ? form : (JSON.parse(`"${form}"`) as string);
    if (form.length > 1 && isHidden(text.codePointAt(0) ?? 0)) continue;
    for (let at = 0; at < text.length; at += 1) offsets.push(index + 6 * at);
    decoded += text;
  }
  offsets.push(literal.length);
  return { decoded, offsets };
}

/** The same JSON value with every string mapped; names of members stay. */
export function mapStrings<T>(value: T, map: (text: string, key: string) => string, key = ''): T {
  if (typeof value === 'string') {
    return map(value, key) as T;
  }
  if (Array.isArray(value)) {
    return value.map((each: unknown) => mapStrings(each, map, key)) as T;
  }
  return typeof value === 'object' && value !== null
    ? (Object.fromEntries(
        Object.entries(value).map(([name, each]) => [name, mapStrings(each as unknown, map, name)]),
      ) as T)
    : value;
}
