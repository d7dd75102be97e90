import { authorize } from '#domain/foundation/access/policy.ts';
import type { Context } from '#domain/foundation/access/context.ts';
import { recordEvent } from '#domain/foundation/events/record-event.ts';
import { invalid } from '#domain/foundation/kernel/errors.ts';
import { newId } from '#domain/foundation/kernel/ids.ts';
import { databaseNow } from '#domain/foundation/persistence/database-now.ts';
import { findModel } from './find-model.ts';
import { ModelPrice } from './model-price.entity.ts';
import type { Model } from './model.entity.ts';
import { toPrice, toPriceUsd, type Price, type PriceUsd } from './pricing.ts';

export interface SetPrice {
  alias: string;
  price: PriceUsd;
  /** null or omitted: now. Never in the past, whose usage is already charged. */
  validFrom?: Date | null;
}

/**
 * Adds a model's price from a time on; earlier ones stay. @throws `missing_permission`, `model_not_found`,
 * `invalid_request`
 */
export async function setPrice(ctx: Context, input: SetPrice): Promise<ModelPrice> {
  authorize(ctx.caller, 'prices.manage');
  const model = await findModel(ctx, input.alias);
  return writePrice(ctx, { model, price: toPrice(input.price), validFrom: input.validFrom ?? null });
}

/** `setPrice` for a caller that has authorised and parsed. */
export async function writePrice(
  ctx: Context,
  input: { model: Model; price: Price; validFrom: Date | null },
): Promise<ModelPrice> {
  const { model, price } = input;
  const now = await databaseNow(ctx.em);
  const validFrom = input.validFrom ?? now;
  if (Number.isNaN(validFrom.getTime()) || validFrom < now) {
    throw invalid('valid_from', 'valid_from must not lie in the past.');
  }
  const row = ctx.em.create(ModelPrice, {
    tenantId: model.tenantId,
    id: newId(),
    modelId: model.id,
    validFrom,
    ...price,
  });
  await ctx.em.flush();
  const usd = toPriceUsd(price);
  await recordEvent(ctx.em, ctx.caller, {
    type: 'system.model_updated',
    resource: { type: 'model', id: model.id },
    metadata: {
      alias: model.alias,
      input_usd_per_million: usd.input,
      cached_input_usd_per_million: usd.cachedInput,
      output_usd_per_million: usd.output,
      valid_from: validFrom.toISOString(),
    },
  });
  return row;
}
