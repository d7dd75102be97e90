import { LockMode } from '@mikro-orm/core';
import type { Context } from '#domain/foundation/access/context.ts';
import { authorize } from '#domain/foundation/access/policy.ts';
import { recordEvent } from '#domain/foundation/events/record-event.ts';
import { changedFields } from '#domain/foundation/kernel/changed-fields.ts';
import { databaseNow } from '#domain/foundation/persistence/database-now.ts';
import { toMicroUsd } from '#domain/capabilities/models/pricing.ts';
import { checkRerankingModel, requireRerankingCredential } from './check-reranking-model.ts';
import { findRerankingModel } from './find-reranking-model.ts';
import type { RerankingModel, ScoreScale } from './reranking-model.entity.ts';

export interface UpdateRerankingModel {
  id: string;
  baseUrl?: string | null;
  credentialId?: string | null;
  maxTokens?: number;
  scoreScale?: ScoreScale;
  /** Dollars per million tokens. */
  price?: string;
  /** Dollars per thousand searches. */
  searchPrice?: string;
  /** true: no search uses it any more, and no space may choose it. */
  disabled?: boolean;
}

const changeable = ['baseUrl', 'credentialId', 'maxTokens', 'scoreScale'] as const;
const prices = [
  ['price', 'price', 'microUsdPerMillion', 'million tokens'],
  ['searchPrice', 'search_price', 'microUsdPerThousandSearches', 'thousand searches'],
] as const;

/**
 * Changes how a model is reached, how its scores are read, its prices, or withdraws it at once from all searches. The row
 * stays, since costs refer to it. @throws `missing_permission`, `model_not_found`, `invalid_request`
 */
export async function updateRerankingModel(
  ctx: Context,
  input: UpdateRerankingModel,
): Promise<RerankingModel> {
  authorize(ctx.caller, 'models.manage');
  const model = await findRerankingModel(ctx, input.id, LockMode.PESSIMISTIC_WRITE);
  const settings = changedFields(changeable, input, model);
  Object.assign(model, Object.fromEntries(settings.map((field) => [field, input[field]])));
  const changed: string[] = settings;
  for (const [given, param, column, units] of prices) {
    const text = input[given];
    if (text !== undefined && toMicroUsd(param, text, units) !== BigInt(model[column])) {
      model[column] = toMicroUsd(param, text, units);
      changed.push(given);
    }
  }
  checkRerankingModel(model);
  if (changed.includes('credentialId') || changed.includes('baseUrl')) {
    await requireRerankingCredential(ctx, model);
  }
  const { disabled } = input;
  if (disabled !== undefined && disabled !== (model.disabledAt != null)) {
    model.disabledAt = disabled ? await databaseNow(ctx.em) : null;
    changed.push('disabled');
  }
  if (changed.length > 0) {
    await ctx.em.flush();
    const removed = model.disabledAt != null && changed.includes('disabled');
    await recordEvent(ctx.em, ctx.caller, {
      type: removed ? 'system.model_removed' : 'system.model_updated',
      resource: { type: 'model', id: model.id },
      ...(removed ? {} : { changedFields: changed }),
      metadata: { alias: model.alias, kind: 'reranking' },
    });
  }
  return model;
}
