import { cleanText } from '#domain/foundation/kernel/clean-text.ts';
import { ContinuationMatcher, splitAtCodePoint } from './continuation.ts';
import type { FinishedItem } from '#domain/responses/store/item-store.ts';
import {
  closeMessage,
  openMessage,
  openPart,
  place,
  type Closing,
} from '#domain/responses/store/message-events.ts';
import type { OpenMessage } from '#domain/responses/store/open-item.ts';
import { placeReasoning, type Reasoned } from './reasoning-items.ts';
import type { StreamEvent } from '#domain/responses/record/stream-events.ts';

/** The file of a citation label, and its place in the list of files. */
export interface CitedFile {
  fileId: string;
  filename: string;
  index: number;
  /** Of the passage that has the label. */
  page?: number;
  anchor?: string;
}

export interface ComposerOptions {
  /** What readers have of the message that was open when this turn was cut off. */
  open: OpenMessage | null;
  /** Give up the open message and begin a new one, whatever the model says. */
  restart: boolean;
  /** Characters at the open message's end that the model is going to repeat exactly. */
  reread?: number;
  /** Reasoning that readers have of this turn. The model's new reasoning replaces it without being published again. */
  repeatedReasoning?: readonly FinishedItem[];
  nextOutputIndex: number;
  /** Hold a whole message until it is complete. */
  buffered: boolean;
  citations: ReadonlyMap<number, CitedFile>;
  itemId(prefix: 'msg' | 'rs', outputIndex: number): string;
  /**
   * Additional members of a citation's event about the text before it, whose length differs for readers of restored
   * values.
   */
  citedBehind?(text: string): { tokens_before?: Record<string, number> };
}

export interface ComposedEnd {
  events: StreamEvent[];
  /** All finished items, in the order in which they were finished. */
  done: FinishedItem[];
}

const mark = /\[(\d{1,4})\]/g;
const maxMarkLength = 6;

/** Per message; further marks stay text. */
const maxCitations = 1_000;

/**
 * Turns a model's text and reasoning into stream events, from the exact character up to which readers have the text.
 */
export class MessageComposer {
  readonly #options: ComposerOptions;
  #open: OpenMessage | null;
  #matcher: ContinuationMatcher | null;
  #nextOutputIndex: number;
  #rest = '';
  #held: StreamEvent[] = [];
  #scanFrom = 0;
  /** The end of the open message's text, in which a mark may have begun. */
  #tail = '';
  #skip = 0;
  #restartPending: boolean;
  #end: ComposedEnd | null = null;
  /** Reasoning that waits for its message, or for the end. */
  #reasoned: Reasoned[] = [];
  readonly #repeated: FinishedItem[];
  /** Superseded messages, and placed reasoning. */
  readonly #done: FinishedItem[] = [];

  constructor(options: ComposerOptions) {
    this.#options = options;
    this.#open = options.open;
    this.#nextOutputIndex = options.nextOutputIndex;
    this.#repeated = [...(options.repeatedReasoning ?? [])];
    this.#restartPending = options.restart && options.open !== null;
    const prefix = options.restart ? '' : (options.open?.text ?? '');
    // The prefix that such a run was asked to continue; only its length separates it from the run's own text.
    const before = prefix.slice(0, Math.max(0, prefix.length - (options.reread ?? 0)));
    this.#skip = before === '' ? 0 : prefix.length - before.length;
    this.#matcher = prefix === '' ? null : new ContinuationMatcher(before === '' ? prefix : before);
    if (options.open !== null) {
      const cited = options.open.annotations.at(-1)?.end_index ?? 0;
      this.#scanFrom = Math.max(cited, options.open.text.length - maxMarkLength);
      this.#tail = options.open.text.slice(-maxMarkLength);
    }
  }

  get nextOutputIndex(): number {
    return this.#nextOutputIndex;
  }

  /** Events for a piece of the model's text; none while the matcher holds it. */
  text(delta: string): StreamEvent[] {
    const { ready, rest } = splitAtCodePoint(this.#rest + delta);
    this.#rest = rest;
    return ready === '' ? [] : this.#understand(cleanText(ready));
  }

  /**
   * Adds finished reasoning. It is published with the text that it led to, before the message of that text; if the
   * message is open already, or no text follows, it is published after everything at the end.
   */
  reasoning(reasoned: readonly Reasoned[]): void {
    for (const one of reasoned) {
      const known = this.#repeated.shift();
      if (known === undefined) {
        this.#reasoned.push(one);
      } else {
        this.#done.push({ ...known, providerState: one.providerState });
      }
    }
  }

  /** Ends the message, if one is open, with all held text. Idempotent. */
  end(closing: Closing): ComposedEnd {
    this.#end ??= this.#close(closing);
    return this.#end;
  }

  #close(closing: Closing): ComposedEnd {
    const events = this.#flushHeld();
    const done = this.#done;
    if (this.#open !== null) {
      const { outputIndex } = this.#open;
      // A message that was to be superseded but has no successor is incomplete.
      const end = closeMessage(this.#open, this.#restartPending ? { status: 'incomplete' } : closing);
      events.push(...end.events);
      done.push({ outputIndex, item: end.item });
      this.#open = null;
    }
    events.push(...this.#placeReasoning(this.#drainReasoned()));
    done.push(...this.#repeated);
    return { events, done };
  }

  #drainReasoned(): Reasoned[] {
    const reasoned = this.#reasoned;
    this.#reasoned = [];
    return reasoned;
  }

  #placeReasoning(reasoned: readonly Reasoned[]): StreamEvent[] {
    return reasoned.flatMap((one) => {
      const outputIndex = this.#nextOutputIndex++;
      const { finished, events } = placeReasoning(
        { id: this.#options.itemId('rs', outputIndex), outputIndex },
        one,
      );
      this.#done.push(finished);
      return events;
    });
  }

  /** The events of the held text, once the model has ended its text. */
  endOfText(): StreamEvent[] {
    const tail = this.#rest;
    this.#rest = '';
    const events = tail === '' ? [] : this.#understand(cleanText(tail));
    if (this.#matcher !== null) {
      events.push(...this.#decide(this.#matcher.end()));
    }
    return events;
  }

  #understand(text: string): StreamEvent[] {
    return this.#matcher === null ? this.#emit(text) : this.#decide(this.#matcher.push(text));
  }

  #decide(decision: ReturnType<ContinuationMatcher['push']>): StreamEvent[] {
    switch (decision.kind) {
      case 'hold':
        return [];
      case 'append':
        return decision.text === '' ? [] : this.#emit(decision.text);
      case 'restart':
        this.#restartPending = true;
        return this.#emit(decision.text);
    }
  }

  #emit(said: string): StreamEvent[] {
    const text = said.slice(this.#skip);
    this.#skip -= said.length - text.length;
    if (text === '') {
      return [];
    }
    const events = [...this.#ready(), ...this.#append(text)];
    if (!this.#options.buffered) {
      return events;
    }
    this.#held.push(...events);
    return [];
  }

  #flushHeld(): StreamEvent[] {
    const events = this.#held;
    this.#held = [];
    return events;
  }

  /** Ensures an open message with an open part. */
  #ready(): StreamEvent[] {
    const events: StreamEvent[] = [];
    const begins = this.#open === null || this.#restartPending;
    const reasoned = begins ? this.#drainReasoned() : [];
    if (this.#open !== null && this.#restartPending) {
      const { outputIndex } = this.#open;
      const supersededBy = this.#options.itemId('msg', this.#nextOutputIndex + reasoned.length);
      const end = closeMessage(this.#open, { status: 'incomplete', supersededBy });
      events.push(...end.events);
      this.#done.push({ outputIndex, item: end.item });
      this.#open = null;
    }
    this.#restartPending = false;
    if (this.#open === null) {
      events.push(...this.#placeReasoning(reasoned));
      const outputIndex = this.#nextOutputIndex++;
      this.#scanFrom = 0;
      this.#tail = '';
      const begun = openMessage(this.#options.itemId('msg', outputIndex), outputIndex);
      this.#open = begun.open;
      return [...events, ...begun.events];
    }
    return [...events, ...openPart(this.#open)];
  }

  #append(text: string): StreamEvent[] {
    const open = this.#open;
    if (open === null) {
      return [];
    }
    // Searches only new text for marks, never the whole of a long message that grows by a word.
    const seen = this.#tail + text;
    const seenFrom = open.text.length - this.#tail.length;
    open.text += text;
    const events: StreamEvent[] = [
      { type: 'response.output_text.delta', ...place(open), delta: text, logprobs: [] },
    ];
    mark.lastIndex = Math.max(0, this.#scanFrom - seenFrom);
    for (let match = mark.exec(seen); match !== null; match = mark.exec(seen)) {
      this.#scanFrom = seenFrom + mark.lastIndex;
      const file = this.#options.citations.get(Number(match[1]));
      if (file !== undefined && open.annotations.length < maxCitations) {
        const { fileId, ...cited } = file;
        const annotation = {
          type: 'file_citation' as const,
          file_id: fileId,
          ...cited,
          start_index: seenFrom + match.index,
          end_index: this.#scanFrom,
        };
        open.annotations.push(annotation);
        events.push({
          type: 'response.output_text.annotation.added',
          ...place(open),
          annotation_index: open.annotations.length - 1,
          annotation,
          ...this.#options.citedBehind?.(open.text.slice(0, seenFrom + match.index)),
        });
      }
    }
    this.#scanFrom = Math.max(this.#scanFrom, open.text.length - maxMarkLength);
    this.#tail = seen.slice(-maxMarkLength);
    return events;
  }
}
