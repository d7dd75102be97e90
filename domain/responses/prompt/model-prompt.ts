import type {
  InputModality,
  OpaqueState,
  PromptCall,
  PromptMessage,
  PromptPart,
} from '#domain/capabilities/models/model-gateway.ts';
import { toPromptPart } from '#domain/responses/store/input-files.ts';
import type { CitedFile } from '#domain/responses/stream/message-composer.ts';
import type {
  InputMessage,
  Item as WireItem,
  OutputMessage,
  ToolExchange,
} from '#domain/responses/record/output-items.ts';
import { arrange, type ProviderState, type StateOwner } from '#domain/responses/record/provider-state.ts';
import type { Response } from '#domain/responses/record/response.entity.ts';
import { resultFiles } from '#domain/responses/store/result-files.ts';
import { joinResults } from '#domain/responses/record/tool-exchanges.ts';

export interface StoredItem {
  response_id: string;
  type: string;
  wire: string;
  exchange: ToolExchange | null;
  provider_state: ProviderState | null;
}

/** The messages for the model, and the files that its citation marks may refer to. */
export interface Prompt {
  messages: PromptMessage[];
  citations: Map<number, CitedFile>;
}

const citationRule =
  'When you use a result of knowledge_search, cite it by its label in square brackets, such as [1], ' +
  'right after the sentence that it supports. Cite only labels that a result carries.';

/** The conversation so far: the chain's snapshot, this response's input, then its own finished items. */
export function buildPrompt(
  { request }: Pick<Response, 'request'>,
  items: readonly StoredItem[],
  model: StateOwner & { inputModalities: readonly InputModality[] },
): Prompt {
  const messages: PromptMessage[] = [];
  if (request.skill !== undefined) {
    messages.push({ role: 'system', text: request.skill.instructions });
  }
  if (request.instructions !== null) {
    messages.push({ role: 'system', text: request.instructions });
  }
  if (request.tools.some((tool) => tool.type === 'knowledge_search')) {
    messages.push({ role: 'system', text: citationRule });
  }
  return {
    messages: [...messages, ...toMessages(joinResults(items), model)],
    citations: citationsOf(items),
  };
}

/**
 * Text and calls of one assistant turn form one message; each call is followed by its result. Reasoning precedes the
 * text or call that it led to.
 */
function toMessages(
  items: readonly StoredItem[],
  model: StateOwner & { inputModalities: readonly InputModality[] },
): PromptMessage[] {
  const messages: PromptMessage[] = [];
  let results: PromptMessage[] = [];
  const flush = () => {
    messages.push(...results);
    results = [];
  };
  let turn: string | null = null;
  for (const { row, state, turn: itsTurn } of arrange(items, model)) {
    const { wire, exchange } = row;
    if (itsTurn !== turn) {
      flush();
      turn = itsTurn;
    }
    const item = JSON.parse(wire) as WireItem;
    if (state?.reasoning !== undefined) {
      messages.push({ role: 'assistant', reasoning: state.reasoning, text: '', calls: [] });
    } else if (exchange !== null) {
      const call: PromptCall = {
        callId: exchange.call_id,
        name: exchange.name,
        arguments: exchange.arguments,
        ...(state?.state === undefined ? {} : { state: state.state }),
      };
      const last = messages.at(-1);
      if (last?.role === 'assistant') {
        last.calls.push(call);
      } else {
        messages.push({ role: 'assistant', text: '', calls: [call] });
      }
      const result = exchange.result ?? 'This call was never run.';
      const files = resultFiles(exchange.media ?? [], model.inputModalities);
      const { call_id: callId, name } = exchange;
      results.push({ role: 'tool', callId, name, result, ...(files.length === 0 ? {} : { files }) });
    } else if (item.type === 'message') {
      flush();
      const said = toMessage(item, model.inputModalities, state?.state);
      const before = messages.at(-1);
      if (said.role === 'assistant' && before?.role === 'assistant' && isReasoningOnly(before)) {
        Object.assign(before, { ...said, reasoning: before.reasoning });
      } else {
        messages.push(said);
      }
    }
  }
  flush();
  return messages;
}

function isReasoningOnly(message: Extract<PromptMessage, { role: 'assistant' }>): boolean {
  return message.text === '' && message.calls.length === 0;
}

function toMessage(
  { role, content }: OutputMessage | InputMessage,
  accepted: readonly InputModality[],
  state?: OpaqueState,
): PromptMessage {
  const parts = content.map((part) => toAccepted(toPromptPart(part), accepted));
  const text = parts.map((part) => (part.type === 'text' ? part.text : '')).join('');
  switch (role) {
    case 'assistant':
      return { role, text, calls: [], ...(state === undefined ? {} : { state }) };
    case 'user':
      return { role, text, ...(content.every((part) => 'text' in part) ? {} : { parts }) };
    case 'system':
    case 'developer':
      return { role: 'system', text };
  }
}

/** An earlier answer may have used content that this model does not accept: a placeholder replaces it. */
function toAccepted(part: PromptPart, accepted: readonly InputModality[]): PromptPart {
  const kind = part.type === 'text' ? 'text' : part.mediaType.startsWith('image/') ? 'image' : 'file';
  return accepted.includes(kind) ? part : { type: 'text', text: `[${kind} left out]` };
}

interface LabelledResults {
  results?: { label?: string; document_id?: string; filename?: string; page?: number; anchor?: string }[];
}

function citationsOf(items: readonly StoredItem[]): Map<number, CitedFile> {
  const citations = new Map<number, CitedFile>();
  const places = new Map<string, number>();
  for (const { exchange } of items) {
    if (exchange?.name !== 'knowledge_search' || exchange.result === null) {
      continue;
    }
    for (const { label, document_id: fileId, filename, page, anchor } of labelled(exchange.result)) {
      if (label === undefined || fileId === undefined || filename === undefined) {
        continue;
      }
      const index = places.get(fileId) ?? places.size;
      places.set(fileId, index);
      const place = { ...(page === undefined ? {} : { page }), ...(anchor === undefined ? {} : { anchor }) };
      citations.set(Number(label.slice(1, -1)), { fileId, filename, index, ...place });
    }
  }
  return citations;
}

/** Results of a search that succeeded; a failed call's text is not JSON and cites nothing. */
function labelled(result: string): NonNullable<LabelledResults['results']> {
  return result.startsWith('{') ? ((JSON.parse(result) as LabelledResults).results ?? []) : [];
}
