import { authorize } from '#domain/foundation/access/policy.ts';
import type { Context } from '#domain/foundation/access/context.ts';
import { findModel } from './find-model.ts';
import { ModelPrice } from './model-price.entity.ts';

/** All prices of a model, future ones included, newest first. @throws `missing_permission`, `model_not_found` */
export async function listPrices(ctx: Context, input: { alias: string }): Promise<ModelPrice[]> {
  authorize(ctx.caller, 'models.read');
  const model = await findModel(ctx, input.alias);
  return ctx.em.find(
    ModelPrice,
    { modelId: model.id },
    { orderBy: { validFrom: 'desc', id: 'desc' }, limit: 1_000 },
  );
}
