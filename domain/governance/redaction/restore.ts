import { mapTextFile } from '#domain/foundation/kernel/text-file.ts';
import { mayHoldTokens, stringTokenPattern, tokenPattern } from './pii-tokens.ts';
import { mapStrings, type PiiEntry } from './redact.ts';

/** Values by their tokens. */
type Values = ReadonlyMap<string, Value>;
type Value = Pick<PiiEntry, 'value' | 'written' | 'bare'>;

/** Replaces tokens in a text with their values. Unknown tokens stay. */
export function restoreText(text: string, mapping: Values): string {
  return mayHoldTokens(text)
    ? text.replace(tokenPattern(), (token) => mapping.get(token)?.value ?? token)
    : text;
}

/** Like `restoreText` for a JSON document: valid JSON remains valid. */
export function restoreJsonText(text: string, mapping: Values): string {
  return restoreStrings(text, mapping, ({ value, written }) => written ?? JSON.stringify(value).slice(1, -1));
}

/** A token of a number is replaced with the quotes that were added for it. */
function restoreStrings(text: string, mapping: Values, write: (known: Value) => string): string {
  return text.replace(stringTokenPattern(), (found) => {
    const quote = found.startsWith('"') ? '"' : '';
    const known = mapping.get(quote === '' ? found : found.slice(1, -1));
    if (known === undefined) {
      return found;
    }
    return known.bare === true ? known.value : `${quote}${write(known)}${quote}`;
  });
}

/** Members of items and events that hold a JSON document as text. */
const documents = new Set(['arguments']);

/** Restores texts of tools and callers in their written form. */
function restoreWritten(text: string, mapping: Values): string {
  return restoreStrings(text, mapping, ({ value, written }) => written ?? value);
}

/**
 * A record, item or event as an authorised reader sees it. Positions of citations are adjusted to the restored text.
 */
export function restoreValue<T>(value: T, mapping: Values): T {
  const placed = mayHoldTokens(JSON.stringify(value)) ? placeCitations(value, mapping) : value;
  return mapStrings(placed, (text, key) => {
    // Messages hold text files as data URLs.
    const file = key === 'file_data' ? mapTextFile(text, (content) => restoreText(content, mapping)) : null;
    if (file !== null) {
      return file;
    }
    if (key === 'output') {
      return restoreWritten(text, mapping);
    }
    return documents.has(key) ? restoreJsonText(text, mapping) : restoreText(text, mapping);
  });
}

interface Cited {
  text: string;
  annotations: { start_index: number; end_index: number }[];
}

function isCited(value: object): value is Cited {
  return 'text' in value && typeof value.text === 'string' && 'annotations' in value;
}

function placeCitations<T>(value: T, mapping: Values): T {
  if (Array.isArray(value)) {
    return value.map((each: unknown) => placeCitations(each, mapping)) as T;
  }
  if (typeof value !== 'object' || value === null) {
    return value;
  }
  if (isCited(value)) {
    return { ...value, annotations: placeAll(value, mapping) };
  }
  return Object.fromEntries(
    Object.entries(value).map(([name, each]) => [name, placeCitations(each as unknown, mapping)]),
  ) as T;
}

/** One pass over the text for all citations. */
function placeAll({ text, annotations }: Cited, mapping: Values): Cited['annotations'] {
  const tokens = [...text.matchAll(tokenPattern())];
  const placed = [...annotations];
  const inOrder = [...annotations.entries()].toSorted(([, a], [, b]) => a.start_index - b.start_index);
  let by = 0;
  let next = 0;
  for (const [index, annotation] of inOrder) {
    for (let token = tokens[next]; token !== undefined; token = tokens[next]) {
      if (token.index + token[0].length > annotation.start_index) break;
      by += (mapping.get(token[0])?.value.length ?? token[0].length) - token[0].length;
      next += 1;
    }
    placed[index] = shiftedBy(annotation, by);
  }
  return placed;
}

function shifted<A extends { start_index: number; end_index: number }>(
  annotation: A,
  before: Record<string, number>,
  mapping: Values,
): A {
  let by = 0;
  for (const [token, count] of Object.entries(before)) {
    by += count * ((mapping.get(token)?.value.length ?? token.length) - token.length);
  }
  return shiftedBy(annotation, by);
}

function shiftedBy<A extends { start_index: number; end_index: number }>(annotation: A, by: number): A {
  return {
    ...annotation,
    start_index: annotation.start_index + by,
    end_index: annotation.end_index + by,
  };
}

interface AnnotationEvent {
  annotation: { start_index: number; end_index: number };
  tokens_before?: Record<string, number>;
}

/**
 * Restores a stored stream event. No delta ends within a token, so events are restored one by one and replays are
 * equal.
 */
export function restoreLine(line: string, type: string, mapping: Values): string {
  if (!mayHoldTokens(line)) {
    return line;
  }
  const event = JSON.parse(line) as Record<string, unknown>;
  if (type.endsWith('_arguments.delta') && typeof event.delta === 'string') {
    return JSON.stringify({ ...event, delta: restoreJsonText(event.delta, mapping) });
  }
  if (type === 'response.output_text.annotation.added') {
    const { tokens_before: before = {}, ...rest } = event as Partial<AnnotationEvent> & typeof event;
    const annotation = shifted((event as unknown as AnnotationEvent).annotation, before, mapping);
    return JSON.stringify(restoreValue({ ...rest, annotation }, mapping));
  }
  return JSON.stringify(restoreValue(event, mapping));
}
