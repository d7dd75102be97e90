import type { Json } from './stream-events.ts';

export interface BuiltFrame {
  id: string | null;
  event: string;
  data: Json;
}

export const DONE = 'data: [DONE]\n\n';
export const RETRY = 'retry: 2000\n\n';

/** A frame as the server writes it. */
export function encodeFrame({ id, event, data }: BuiltFrame): string {
  return `${id === null ? '' : `id: ${id}\n`}event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
}

/** Builds the events of a valid stream, one call per step. */
export class StreamBuilder {
  readonly responseId: string;
  readonly frames: BuiltFrame[] = [];
  readonly #output: Json[] = [];
  #items = 0;
  #iterations = 0;

  constructor(responseId: string) {
    this.responseId = responseId;
  }

  emit(event: string, payload: Json): void {
    const n = this.frames.length;
    const data = { type: event, sequence_number: n, ...payload };
    this.frames.push({ id: `${this.responseId}:${n}`, event, data: structuredClone(data) });
  }

  response(status: string): Json {
    return {
      id: this.responseId,
      status,
      output: structuredClone(this.#output),
      platform: { iteration_count: this.#iterations },
    };
  }

  created(): void {
    this.emit('response.created', { response: this.response('queued') });
  }

  iteration(): void {
    this.#iterations += 1;
    this.emit('response.in_progress', { response: this.response('in_progress') });
  }

  /** A message in `deltas`, each annotation after the text; `supersededBy` abandons it. */
  message(
    deltas: string[],
    { annotations = [], supersededBy }: { annotations?: Json[]; supersededBy?: string } = {},
  ): void {
    const { index: output_index, id } = this.#open('msg');
    const at = { item_id: id, output_index, content_index: 0 };
    const text = deltas.join('');
    const part = { type: 'output_text', text, annotations, logprobs: [] };
    const item = { id, type: 'message', role: 'assistant' };
    this.emit('response.output_item.added', {
      output_index,
      item: { ...item, status: 'in_progress', content: [] },
    });
    this.emit('response.content_part.added', { ...at, part: { ...part, text: '', annotations: [] } });
    for (const delta of deltas) this.emit('response.output_text.delta', { ...at, delta, logprobs: [] });
    annotations.forEach((annotation, annotation_index) =>
      this.emit('response.output_text.annotation.added', { ...at, annotation_index, annotation }),
    );
    this.emit('response.output_text.done', { ...at, text, logprobs: [] });
    this.emit('response.content_part.done', { ...at, part });
    const platform = supersededBy === undefined ? {} : { platform: { superseded_by: supersededBy } };
    const status = supersededBy === undefined ? 'completed' : 'incomplete';
    this.#close(output_index, { ...item, status, content: [part], ...platform }, supersededBy === undefined);
  }

  search(queries: string[]): void {
    const { index: output_index, id } = this.#open('fs');
    const item = { id, type: 'file_search_call', queries, results: null };
    this.emit('response.output_item.added', { output_index, item: { ...item, status: 'in_progress' } });
    for (const stage of ['in_progress', 'searching', 'completed']) {
      this.emit(`response.file_search_call.${stage}`, { item_id: id, output_index });
    }
    this.#close(output_index, { ...item, status: 'completed' }, true);
  }

  call(name: string, json: string): void {
    const { index: output_index, id } = this.#open('fc');
    const item = { id, type: 'function_call', call_id: `call_${output_index}`, name };
    const at = { item_id: id, output_index };
    this.emit('response.output_item.added', {
      output_index,
      item: { ...item, status: 'in_progress', arguments: '' },
    });
    this.emit('response.function_call_arguments.delta', { ...at, delta: json });
    this.emit('response.function_call_arguments.done', { ...at, arguments: json });
    this.#close(output_index, { ...item, status: 'completed', arguments: json }, true);
  }

  /** The id that the item of this index has or will have. */
  static itemId(prefix: 'msg' | 'fs' | 'fc', index: number): string {
    return `${prefix}_${index}`;
  }

  completed(): void {
    this.emit('response.completed', { response: this.response('completed') });
  }

  #open(prefix: 'msg' | 'fs' | 'fc'): { index: number; id: string } {
    const index = this.#items;
    this.#items += 1;
    return { index, id: StreamBuilder.itemId(prefix, index) };
  }

  #close(output_index: number, item: Json, kept: boolean): void {
    this.emit('response.output_item.done', { output_index, item });
    if (kept) this.#output.push(item);
  }
}
