import type { EntityManager } from '@mikro-orm/postgresql';
import type { PromptCall, PromptMessage } from '#domain/models/model-gateway.ts';
import type { CitedFile } from './message-composer.ts';
import type { Item as WireItem, ToolExchange } from './output-items.ts';
import type { ResponseRequest } from './response-request.ts';
import { joinResults } from './tool-exchanges.ts';

interface StoredItem {
  wire: string;
  exchange: ToolExchange | null;
}

/** What the model is told, and which files its citation marks may mean. */
export interface Prompt {
  messages: PromptMessage[];
  citations: Map<number, CitedFile>;
}

const citationRule =
  'When you use a result of knowledge_search, cite it by its label in square brackets, such as [1], ' +
  'right after the sentence that it supports. Cite only labels that a result carries.';

/** The conversation so far: the chain's snapshot, this response's input, then its own finished items. */
export async function buildPrompt(
  em: EntityManager,
  responseId: string,
  request: ResponseRequest,
): Promise<Prompt> {
  const stored = await em.execute<StoredItem[]>(
    `select i.wire, i.exchange from response_context c join items i on i.tenant_id = c.tenant_id and i.id = c.item_id
       where c.response_id = ? order by c.position`,
    [responseId],
  );
  const own = await em.execute<StoredItem[]>(
    `select wire, exchange from items where response_id = ? and output_index is not null and superseded_by is null
       order by output_index`,
    [responseId],
  );
  const messages: PromptMessage[] = [];
  if (request.instructions !== null) {
    messages.push({ role: 'system', text: request.instructions });
  }
  if (request.tools.some((tool) => tool.type === 'knowledge_search')) {
    messages.push({ role: 'system', text: citationRule });
  }
  return {
    messages: [...messages, ...toMessages(joinResults([...stored, ...own]))],
    citations: citationsOf([...stored, ...own]),
  };
}

/** Neighbouring text and calls of the assistant are one message; each call is followed by its result. */
function toMessages(items: readonly StoredItem[]): PromptMessage[] {
  const messages: PromptMessage[] = [];
  let results: PromptMessage[] = [];
  const flush = () => {
    messages.push(...results);
    results = [];
  };
  for (const { wire, exchange } of items) {
    const item = JSON.parse(wire) as WireItem;
    if (exchange !== null) {
      const call: PromptCall = {
        callId: exchange.call_id,
        name: exchange.name,
        arguments: exchange.arguments,
      };
      const last = messages.at(-1);
      if (last?.role === 'assistant') {
        last.calls.push(call);
      } else {
        messages.push({ role: 'assistant', text: '', calls: [call] });
      }
      const result = exchange.result ?? 'This call was never run.';
      results.push({ role: 'tool', callId: exchange.call_id, name: exchange.name, result });
    } else if (item.type === 'message') {
      flush();
      messages.push(toMessage(item.role, item.content.map((part) => part.text).join('')));
    }
  }
  flush();
  return messages;
}

function toMessage(role: 'user' | 'assistant' | 'system' | 'developer', text: string): PromptMessage {
  switch (role) {
    case 'assistant':
      return { role, text, calls: [] };
    case 'user':
      return { role, text };
    case 'system':
    case 'developer':
      return { role: 'system', text };
  }
}

interface LabelledResults {
  results?: { label?: string; document_id?: string; filename?: string }[];
}

function citationsOf(items: readonly StoredItem[]): Map<number, CitedFile> {
  const citations = new Map<number, CitedFile>();
  const places = new Map<string, number>();
  for (const { exchange } of items) {
    if (exchange?.name !== 'knowledge_search' || exchange.result === null) {
      continue;
    }
    for (const { label, document_id: fileId, filename } of labelled(exchange.result)) {
      if (label === undefined || fileId === undefined || filename === undefined) {
        continue;
      }
      const index = places.get(fileId) ?? places.size;
      places.set(fileId, index);
      citations.set(Number(label.slice(1, -1)), { fileId, filename, index });
    }
  }
  return citations;
}

/** Results of a search that succeeded; a failed call's text is not JSON and cites nothing. */
function labelled(result: string): NonNullable<LabelledResults['results']> {
  return result.startsWith('{') ? ((JSON.parse(result) as LabelledResults).results ?? []) : [];
}
