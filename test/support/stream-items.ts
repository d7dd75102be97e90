import { isDeepStrictEqual } from 'node:util';
import { asList, asObject, partText } from './stream-events.ts';
import type { Json, Report, SeenEvent } from './stream-events.ts';

/** Text that comes in deltas: of a content part, a summary part, or the arguments of a call. */
interface Growing {
  text: string;
  /** The text is marked complete. */
  ended: boolean;
  /** The part around it is closed. */
  closed: boolean;
  annotations: unknown[];
}

export interface TrackedItem {
  index: number;
  id: unknown;
  type: unknown;
  addedAt: number;
  doneAt: number | null;
  /** As in its done event. */
  done: Json | null;
  content: Growing[];
  summary: Growing[];
  args: Growing | null;
  stage: number;
}

const STAGES = ['in_progress', 'searching', 'completed', 'failed'];
const TEXT_FIELD: Record<string, string> = {
  output_text: 'text',
  refusal: 'refusal',
  reasoning_summary_text: 'text',
  function_call_arguments: 'arguments',
  mcp_call_arguments: 'arguments',
};

/** Follows the items of one stream: O2 (order, dense indexes) and O3 (deltas equal every later form of the text). */
export class ItemTracker {
  readonly items: TrackedItem[] = [];
  readonly #report: Report;

  constructor(report: Report) {
    this.#report = report;
  }

  read({ n, type, data }: SeenEvent): void {
    const [subject = '', verb = ''] = type.slice('response.'.length).split(/\.(?=[^.]+$)/);
    if (subject === 'output_item' && verb === 'added') return this.#add(data, n);
    if (typeof data['output_index'] !== 'number') return;
    const item = this.#find(data, n);
    if (item === undefined) return;
    if (subject === 'output_item') this.#finish(item, asObject(data['item']), n);
    else if (subject === 'content_part')
      this.#readPart(item.content, { data, verb, index: data['content_index'], n });
    else if (subject === 'reasoning_summary_part') {
      this.#readPart(item.summary, { data, verb, index: data['summary_index'], n });
    } else if (subject === 'output_text.annotation') this.#annotate(item, data, n);
    else if (subject in TEXT_FIELD) this.#readText(item, { subject, verb, data, n });
    else this.#advance(item, verb, n);
  }

  end(): void {
    for (const { done, index, addedAt } of this.items) {
      if (done === null) this.#report('O2', `item ${index} is never done`, addedAt);
    }
  }

  #add(data: Json, n: number): void {
    const { id, type, status } = asObject(data['item']);
    const index = data['output_index'];
    if (index !== this.items.length)
      this.#report('O2', `item ${String(index)} added, not ${this.items.length}`, n);
    if (this.items.some((each) => each.id === id))
      this.#report('O2', `item id ${String(id)} is added twice`, n);
    if (status !== 'in_progress') this.#report('O2', `an item is added as ${String(status)}`, n);
    const empty = { doneAt: null, done: null, content: [], summary: [], args: null, stage: -1 };
    this.items.push({ index: Number(index), id, type, addedAt: n, ...empty });
  }

  #find(data: Json, n: number): TrackedItem | undefined {
    const item = this.items.findLast((each) => each.index === data['output_index']);
    const about = `item ${String(data['output_index'])}`;
    const id = data['item_id'] ?? asObject(data['item'])['id'];
    if (item === undefined) this.#report('O2', `${about} was not added before`, n);
    else if (item.done !== null) this.#report('O2', `${about} is done already`, n);
    else if (item.id !== id) this.#report('O2', `${about} is ${String(item.id)}, not ${String(id)}`, n);
    return item;
  }

  #readPart(parts: Growing[], event: { data: Json; verb: string; index: unknown; n: number }): void {
    const { data, verb, index, n } = event;
    if (verb === 'added') {
      if (index !== parts.length) this.#report('O2', `part ${String(index)} added, not ${parts.length}`, n);
      parts.push({ text: '', ended: false, closed: false, annotations: [] });
      return;
    }
    const part = parts[Number(index)];
    if (part === undefined || part.closed) {
      this.#report('O2', `part ${String(index)} is closed while it is not open`, n);
      return;
    }
    if (!part.ended) this.#report('O2', `part ${String(index)} is closed before its text is done`, n);
    part.closed = true;
    this.#comparePart(part, asObject(data['part']), n);
  }

  #comparePart(part: Growing, shown: Json, n: number): void {
    if (partText(shown) !== part.text) this.#report('O3', 'the part differs from its deltas', n);
    const annotations = shown['annotations'] ?? [];
    if (!isDeepStrictEqual(annotations, part.annotations))
      this.#report('O3', 'the part has other annotations', n);
  }

  #annotate(item: TrackedItem, data: Json, n: number): void {
    const part = item.content[Number(data['content_index'])];
    if (part === undefined || part.closed) {
      this.#report('O2', 'an annotation outside its part', n);
      return;
    }
    if (data['annotation_index'] !== part.annotations.length) {
      this.#report('O2', `annotation ${String(data['annotation_index'])}, not ${part.annotations.length}`, n);
    }
    part.annotations.push(data['annotation']);
  }

  #readText(item: TrackedItem, event: { subject: string; verb: string; data: Json; n: number }): void {
    const { subject, verb, data, n } = event;
    const growing = this.#growing(item, subject, data);
    if (growing === undefined || growing.ended || growing.closed) {
      this.#report('O2', `${subject}.${verb} outside its part`, n);
      return;
    }
    if (verb === 'delta') {
      growing.text += String(data['delta']);
      return;
    }
    growing.ended = true;
    if (data[TEXT_FIELD[subject]!] !== growing.text)
      this.#report('O3', 'the done text differs from its deltas', n);
  }

  #growing(item: TrackedItem, subject: string, data: Json): Growing | undefined {
    if (subject === 'reasoning_summary_text') return item.summary[Number(data['summary_index'])];
    if (!subject.endsWith('_arguments')) return item.content[Number(data['content_index'])];
    item.args ??= { text: '', ended: false, closed: false, annotations: [] };
    return item.args;
  }

  #advance(item: TrackedItem, verb: string, n: number): void {
    const stage = Math.min(STAGES.indexOf(verb), 2);
    if (stage <= item.stage) this.#report('O2', `item ${item.index} goes back to ${verb}`, n);
    item.stage = stage;
  }

  #finish(item: TrackedItem, shown: Json, n: number): void {
    if (item.done !== null) return;
    item.done = shown;
    item.doneAt = n;
    const open =
      [...item.content, ...item.summary].some((part) => !part.closed) || item.args?.ended === false;
    if (open) this.#report('O2', `item ${item.index} is done before its parts`, n);
    if (shown['type'] !== item.type) this.#report('O2', `item ${item.index} changed its type`, n);
    if (!['completed', 'incomplete', 'failed'].includes(String(shown['status']))) {
      this.#report('O2', `item ${item.index} is done as ${String(shown['status'])}`, n);
    }
    for (const [name, parts] of [
      ['content', item.content],
      ['summary', item.summary],
    ] as const) {
      const shownParts = asList(shown[name]);
      if (shownParts.length !== parts.length) this.#report('O3', `the done item has other ${name} parts`, n);
      else parts.forEach((part, i) => this.#comparePart(part, shownParts[i]!, n));
    }
    if (item.args !== null && shown['arguments'] !== item.args.text) {
      this.#report('O3', 'the done item has other arguments than its deltas', n);
    }
  }
}
