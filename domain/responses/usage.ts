import { raw } from '@mikro-orm/core';
import type { EntityManager } from '@mikro-orm/postgresql';
import { estimateTokenCount } from 'tokenx';
import { ModelPrice } from '#domain/models/model-price.entity.ts';
import type { PromptMessage, TokenUsage } from '#domain/models/model-gateway.ts';
import { costPicoUsd } from '#domain/models/pricing.ts';
import { estimateFile } from './input-files.ts';
import { textSince } from './open-item.ts';
import type { Response } from './response.entity.ts';
import { TurnAttempt } from './turn-attempt.entity.ts';
import { UsageEntry } from './usage-entry.entity.ts';

export function estimatePrompt(messages: readonly PromptMessage[]): number {
  return messages.reduce((sum, message) => {
    const text = message.role === 'tool' ? message.result : message.text;
    const calls = message.role === 'assistant' ? message.calls.map((call) => call.arguments).join(' ') : '';
    const files = message.role === 'user' ? (message.parts ?? []) : [];
    const held = files.reduce((total, part) => total + (part.type === 'file' ? estimateFile(part) : 0), 0);
    return sum + estimateTokenCount(`${text} ${calls}`) + held + 4;
  }, 0);
}

/** The price in force, by the clock of the database. Every model has at least one: it is written with the model. */
export async function currentPrice(em: EntityManager, modelId: string): Promise<ModelPrice> {
  const [price] = await em.find(
    ModelPrice,
    { modelId, validFrom: { $lte: raw('now()') } },
    { orderBy: { validFrom: 'desc', id: 'desc' }, limit: 1 },
  );
  if (price === undefined) {
    throw new Error('The model has no price.');
  }
  return price;
}

const noTokens: TokenUsage = { inputTokens: 0, cachedInputTokens: 0, outputTokens: 0, reasoningTokens: 0 };

export interface AttemptPlace {
  iteration: number;
  attempt: number;
}

/** Writes down an attempt before its model call, unsettled, with the input it is about to pay for. */
export function reserveUsage(
  em: EntityManager,
  response: Response,
  place: AttemptPlace & { price: ModelPrice; inputTokens: number },
): void {
  em.create(UsageEntry, {
    tenantId: response.tenantId,
    responseId: response.id,
    iteration: place.iteration,
    attempt: place.attempt,
    spaceId: response.spaceId,
    principalId: response.principalId,
    modelId: response.modelId,
    priceId: place.price.id,
    inputTokens: place.inputTokens,
  });
}

/** Settles an attempt once: by the provider's figures, or by estimate when it was cut off (`text` is what came of it). */
export async function settleUsage(
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
  const usage = place.usage ?? {
    inputTokens: entry.inputTokens,
    cachedInputTokens: 0,
    outputTokens: place.text === '' ? 0 : estimateTokenCount(place.text),
    reasoningTokens: 0,
  };
  entry.inputTokens = usage.inputTokens;
  entry.cachedInputTokens = usage.cachedInputTokens;
  entry.outputTokens = usage.outputTokens;
  entry.reasoningTokens = usage.reasoningTokens;
  entry.costPicoUsd = costPicoUsd(price, usage);
  entry.estimated = place.usage === null;
  entry.aborted = place.aborted;
  entry.settled = true;
}

/**
 * Settles every attempt that a crash or an abort left open, each by what it had published; one whose run
 * (`carriedOn`) is read again costs nothing of its own, and the last one of a run counts for all that the run said.
 */
export async function settleOrphans(
  em: EntityManager,
  response: Response,
  turnEvents: readonly string[],
  carriedOn: string | null = null,
): Promise<void> {
  const orphans = await em.find(UsageEntry, { responseId: response.id, settled: false });
  for (const { iteration, attempt } of orphans) {
    const place = { responseId: response.id, iteration };
    const { runId, firstN } = await em.findOneOrFail(TurnAttempt, { ...place, attempt });
    const free = carriedOn !== null && runId === carriedOn;
    const [begun] =
      runId == null
        ? []
        : await em.find(TurnAttempt, { ...place, runId }, { orderBy: { attempt: 'asc' }, limit: 1 });
    const text = free ? '' : textSince(turnEvents, begun?.firstN ?? firstN);
    const usage = free ? noTokens : null;
    await settleUsage(em, response, { iteration, attempt, usage, text, aborted: true });
  }
}

/** Output tokens of the turns that were committed: what a crash threw away is paid for, but not held against the limit. */
export async function committedOutputTokens(em: EntityManager, responseId: string): Promise<number> {
  const [row] = await em.execute<{ tokens: number }[]>(
    'select coalesce(sum(output_tokens), 0)::int as tokens from usage_ledger where response_id = ? and settled and not aborted',
    [responseId],
  );
  return row?.tokens ?? 0;
}
