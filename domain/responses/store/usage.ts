import type { EntityManager } from '@mikro-orm/postgresql';
import { estimateTokens } from '#domain/foundation/kernel/estimate-tokens.ts';
import { ModelPrice } from '#domain/capabilities/models/model-price.entity.ts';
import type { PromptMessage, TokenUsage } from '#domain/capabilities/models/model-gateway.ts';
import { costPicoUsd, type Price } from '#domain/capabilities/models/pricing.ts';
import { estimateFile } from './input-files.ts';
import { textSince } from './open-item.ts';
import type { UsageSum } from '#domain/responses/record/response-record.ts';
import type { Response } from '#domain/responses/record/response.entity.ts';
import { TurnAttempt } from '#domain/responses/record/turn-attempt.entity.ts';
import { UsageEntry } from '#domain/responses/record/usage-entry.entity.ts';

export function estimatePrompt(messages: readonly PromptMessage[]): number {
  return messages.reduce((sum, message) => {
    const text = message.role === 'tool' ? message.result : message.text;
    const calls = message.role === 'assistant' ? message.calls.map((call) => call.arguments).join(' ') : '';
    const files =
      message.role === 'user' ? (message.parts ?? []) : message.role === 'tool' ? (message.files ?? []) : [];
    const held = files.reduce((total, part) => total + (part.type === 'file' ? estimateFile(part) : 0), 0);
    return sum + estimateTokens(`${text} ${calls}`) + held + 4;
  }, 0);
}

export interface AttemptPlace {
  iteration: number;
  attempt: number;
}

/** Settles an attempt once: by the provider's figures, or by estimate if it was cut off (`text` is its output). */
export async function finaliseUsage(
  em: EntityManager,
  response: Response,
  place: AttemptPlace & { usage: TokenUsage | null; text: string; aborted: boolean },
): Promise<void> {
  const entry = await em.findOne(UsageEntry, {
    responseId: response.id,
    iteration: place.iteration,
    attempt: place.attempt,
    kind: 'attempt',
  });
  if (entry === null || entry.settled) {
    return;
  }
  const price = await em.findOneOrFail(ModelPrice, { id: entry.priceId });
  Object.assign(entry, computeFinalUsage({ ...place, price, inputTokens: entry.inputTokens }));
  entry.aborted = place.aborted;
  entry.settled = true;
}

export interface FinalUsage extends TokenUsage {
  costPicoUsd: bigint;
  estimated: boolean;
}

/** The figures of an attempt: the provider's, or an estimate from the reserved input and the received text. */
export function computeFinalUsage(attempt: {
  price: Price;
  inputTokens: number;
  usage: TokenUsage | null;
  text: string;
}): FinalUsage {
  const { inputTokens, cachedInputTokens, outputTokens, reasoningTokens } = attempt.usage ?? {
    inputTokens: attempt.inputTokens,
    cachedInputTokens: 0,
    outputTokens: attempt.text === '' ? 0 : estimateTokens(attempt.text),
    reasoningTokens: 0,
  };
  const usage = { inputTokens, cachedInputTokens, outputTokens, reasoningTokens };
  return { ...usage, costPicoUsd: costPicoUsd(attempt.price, usage), estimated: attempt.usage === null };
}

/** The ledger's sum after an attempt is settled by these figures. */
export function addUsage(sum: UsageSum, usage: FinalUsage): UsageSum {
  return {
    input_tokens: sum.input_tokens + usage.inputTokens,
    cached_input_tokens: sum.cached_input_tokens + usage.cachedInputTokens,
    output_tokens: sum.output_tokens + usage.outputTokens,
    reasoning_tokens: sum.reasoning_tokens + usage.reasoningTokens,
    cost_pico_usd: String(BigInt(sum.cost_pico_usd) + usage.costPicoUsd),
  };
}

/**
 * Settles every attempt that a crash or an abort left open, each by its published text; the last attempt at a run
 * counts the whole text of the run. An attempt whose run (`resumedRun`) will be read again stays open until that read
 * begins, so that the run is paid for exactly once, also if it is never read.
 */
export async function finaliseOrphanedUsage(
  em: EntityManager,
  response: Response,
  turnEvents: readonly string[],
  resumedRun: string | null = null,
): Promise<void> {
  const orphans = await em.find(UsageEntry, { responseId: response.id, settled: false });
  for (const { iteration, attempt } of orphans) {
    const place = { responseId: response.id, iteration };
    const { runId, firstN } = await em.findOneOrFail(TurnAttempt, { ...place, attempt });
    if (resumedRun !== null && runId === resumedRun) {
      continue;
    }
    const [begun] =
      runId == null
        ? []
        : await em.find(TurnAttempt, { ...place, runId }, { orderBy: { attempt: 'asc' }, limit: 1 });
    const text = textSince(turnEvents, begun?.firstN ?? firstN);
    await finaliseUsage(em, response, { iteration, attempt, usage: null, text, aborted: true });
  }
}
