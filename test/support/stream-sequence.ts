import { splitFrames } from './sse-frames.ts';
import type { SseFrame } from './sse-frames.ts';
import { EVENT_TYPES, TERMINAL_TYPES } from './stream-events.ts';
import type { Report, SeenEvent } from './stream-events.ts';

export interface CheckedSegment {
  /** The event id that this connection resumed from (composite or bare number); null from the beginning. */
  cursor: string | null;
  bytes: Uint8Array;
  /** Only a connection that broke may end inside a frame. Without it, every connection but the last may. */
  ended?: 'server' | 'stopped' | 'broken';
}

export interface Sequence {
  /** Each event once, in the order first seen. */
  events: SeenEvent[];
  /** The last connection ended at `[DONE]`, or was empty after the terminal event. */
  done: boolean;
  /** An `error` event ended the last connection. */
  errored: boolean;
}

export interface SequenceRules {
  responseId: string;
  platformEvents: boolean;
}

/** Reads all connections of one response as one sequence: form of frames, O8, O9, O10, and the `[DONE]` of O4. */
export function readSequence(segments: CheckedSegment[], rules: SequenceRules, report: Report): Sequence {
  const reader = new SequenceReader(rules, report);
  segments.forEach((segment, i) => reader.readSegment(segment, i === segments.length - 1));
  return { events: [...reader.events.values()], done: reader.done, errored: reader.errored };
}

class SequenceReader {
  readonly events = new Map<number, SeenEvent>();
  done = false;
  errored = false;
  readonly #rules: SequenceRules;
  readonly #report: Report;
  #last = -1;
  #lastSeen = -1;

  constructor(rules: SequenceRules, report: Report) {
    this.#rules = rules;
    this.#report = report;
  }

  readSegment({ cursor, bytes, ended }: CheckedSegment, isLast: boolean): void {
    this.#last = cursor === null ? -1 : Number(cursor.slice(cursor.lastIndexOf(':') + 1));
    if (this.#last > this.#lastSeen) {
      this.#report(
        'O10',
        `resumed from ${this.#last} while ${this.#lastSeen} was the last one seen`,
        this.#last,
      );
    }
    const { frames, rest } = splitFrames(bytes);
    this.errored = false;
    this.done = bytes.length === 0 && ended !== 'broken' && this.#atTerminal();
    frames.forEach((frame, i) => this.#readFrame(frame, { first: i === 0, behind: frames.length - 1 - i }));
    const mayBeCut = ended === undefined ? !isLast : ended === 'broken';
    if (rest.length > 0 && !mayBeCut) this.#report('frame', 'a connection ends inside a frame', this.#last);
  }

  #atTerminal(): boolean {
    return TERMINAL_TYPES.has(this.events.get(this.#last)?.type ?? '');
  }

  #readFrame(frame: SseFrame, { first, behind }: { first: boolean; behind: number }): void {
    if (frame.raw.includes('\r')) this.#report('frame', 'a carriage return in a frame', this.#last);
    if (frame.data === '[DONE]') return this.#readDone(frame, behind);
    if (frame.data !== null) return this.#readEvent(frame);
    const isRetry = first && frame.raw === 'retry: 2000\n\n';
    if (!isRetry && frame.raw !== ': keep-alive\n\n') {
      this.#report(
        'frame',
        `neither event, keep-alive nor first retry: ${JSON.stringify(frame.raw)}`,
        this.#last,
      );
    }
  }

  #readDone(frame: SseFrame, behind: number): void {
    this.done = true;
    if (frame.raw !== 'data: [DONE]\n\n')
      this.#report('frame', '[DONE] is not alone in its frame', this.#last);
    if (behind > 0) this.#report('O4', `${behind} frames behind [DONE]`, this.#last);
    if (!this.#atTerminal()) this.#report('O4', '[DONE] does not follow the terminal event', this.#last);
  }

  #readEvent(frame: SseFrame): void {
    const { json } = frame;
    if (json === undefined) {
      this.#report('frame', `data is no JSON object: ${frame.data}`, this.#last);
      return;
    }
    const type = String(json['type']);
    this.#checkType(frame, type);
    if (type === 'error') return this.#readError(frame);
    if ('error' in json) this.#report('O8', `${type} has a top-level error`, this.#last + 1);
    const n = this.#readNumber(frame, type);
    const before = this.events.get(n);
    if (before === undefined) this.events.set(n, { n, type, data: json, raw: frame.raw });
    else if (before.raw !== frame.raw)
      this.#report('O7', `event ${n} came a second time with other bytes`, n);
    this.#last = n;
    this.#lastSeen = Math.max(this.#lastSeen, n);
  }

  #checkType({ event }: SseFrame, type: string): void {
    for (const name of new Set([type, event ?? type])) {
      const known = EVENT_TYPES.has(name) || (this.#rules.platformEvents && name.startsWith('platform.'));
      if (!known) this.#report('O9', `${name} is not a type of the table`, this.#last + 1);
    }
  }

  /** The number of the event, checked against its neighbours, its id line and its data. */
  #readNumber({ id, data, json, raw }: SseFrame, type: string): number {
    const { responseId } = this.#rules;
    const expected = this.#last + 1;
    const given = /^(.*):(0|[1-9]\d*)$/s.exec(id ?? '');
    if (given?.[1] !== responseId) this.#report('O10', `id is ${id}, not of ${responseId}`, expected);
    const n = given === null ? Number(json?.['sequence_number'] ?? expected) : Number(given[2]);
    if (n !== expected)
      this.#report('O10', `${n} ${n < expected ? 'repeats or goes back' : 'leaves a gap'}`, expected);
    if (json?.['sequence_number'] !== n) this.#report('O10', `sequence_number is not ${n}, as in the id`, n);
    else if (given?.[1] === responseId) {
      const start = `{"type":${JSON.stringify(type)},"sequence_number":${n}`;
      const exact = `id: ${id}\nevent: ${type}\ndata: ${data}\n\n`;
      const inForm =
        raw === exact && data?.startsWith(start) === true && /^[,}]/.test(data.slice(start.length));
      if (!inForm) this.#report('frame', `not the exact form of an event: ${JSON.stringify(raw)}`, n);
    }
    return n;
  }

  #readError({ id, data, json, raw }: SseFrame): void {
    this.errored = true;
    if (id !== null) this.#report('O10', 'an error event has an id', this.#last);
    if (json?.['sequence_number'] !== this.#last) {
      this.#report('O10', 'an error event does not bear the number of the last event sent', this.#last);
    }
    const nested = typeof json?.['error'] === 'object' && json['error'] !== null;
    if (!nested || (id === null && raw !== `event: error\ndata: ${data}\n\n`)) {
      this.#report('frame', `not the exact form of an error event: ${JSON.stringify(raw)}`, this.#last);
    }
  }
}
