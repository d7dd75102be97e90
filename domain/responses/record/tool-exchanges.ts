import type { ToolExchange } from './output-items.ts';

/**
 * Joins each call with its result, wherever in the conversation the result is: a client's output, a call that was
 * approved later, a refusal. A call keeps its first place and occurs once; a call without a result gets null, so that
 * every call in a prompt has an answer and every answer its call.
 */
export function joinResults<T extends { exchange: ToolExchange | null }>(items: readonly T[]): T[] {
  const results = new Map<string, Pick<ToolExchange, 'result' | 'media'>>();
  for (const { exchange } of items) {
    if (exchange !== null && exchange.result !== null) {
      const { result, media } = exchange;
      results.set(exchange.call_id, media === undefined ? { result } : { result, media });
    }
  }
  const seenCalls = new Set<string>();
  return items.flatMap((item) => {
    const { exchange } = item;
    if (exchange === null) {
      return [item];
    }
    if (seenCalls.has(exchange.call_id)) {
      return [];
    }
    seenCalls.add(exchange.call_id);
    return [{ ...item, exchange: { ...exchange, ...(results.get(exchange.call_id) ?? { result: null }) } }];
  });
}
