import { raw } from '@mikro-orm/core';
import type { EntityManager } from '@mikro-orm/postgresql';
import { estimateTokenCount } from 'tokenx';
import { ModelPrice } from '#domain/models/model-price.entity.ts';
import type { PromptMessage, TokenUsage } from '#domain/models/model-gateway.ts';
import { costPicoUsd } from '#domain/models/pricing.ts';
import type { Response } from './response.entity.ts';
import { UsageEntry } from './usage-entry.entity.ts';

export function estimatePrompt(messages: readonly PromptMessage[]): number {
  return messages.reduce((sum, message) => {
    const text = message.role === 'tool' ? message.result : message.text;
    const calls = message.role === 'assistant' ? message.calls.map((call) => call.arguments).join(' ') : '';
    return sum + estimateTokenCount(`${text} ${calls}`) + 4;
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

/** Settles every attempt that a crash or an abort left open. */
export async function settleOrphans(em: EntityManager, response: Response, openText: string): Promise<void> {
  const orphans = await em.find(UsageEntry, { responseId: response.id, settled: false });
  for (const orphan of orphans) {
    await settleUsage(em, response, {
      iteration: orphan.iteration,
      attempt: orphan.attempt,
      usage: null,
      text: openText,
      aborted: true,
    });
  }
}
