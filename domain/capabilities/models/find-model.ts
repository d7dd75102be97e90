import { validate } from 'uuid';
import { authorize } from '#domain/foundation/access/policy.ts';
import type { Context } from '#domain/foundation/access/context.ts';
import { notFound } from '#domain/foundation/kernel/errors.ts';
import type { ListedModel } from './list-models.ts';
import { Model } from './model.entity.ts';
import { pricesInForce } from './prices-in-force.ts';

/** A model of the tenant, disabled or not, by its alias. @throws `model_not_found` */
export async function findModel(ctx: Context, alias: string): Promise<Model> {
  return found(await ctx.em.findOne(Model, { alias }));
}

/** A model of the tenant by its id. @throws `model_not_found` */
export async function findModelById(ctx: Context, modelId: string): Promise<Model> {
  return found(validate(modelId) ? await ctx.em.findOne(Model, { id: modelId }) : null);
}

/**
 * A model by its alias or its id, locked for a change; responses that refer to it can still be created. @throws
 * `model_not_found`
 */
export async function lockModel(
  ctx: Context,
  input: { alias: string } | { modelId: string },
): Promise<Model> {
  const model = await ('alias' in input ? findModel(ctx, input.alias) : findModelById(ctx, input.modelId));
  await ctx.em.execute('select from models where id = ? for no key update', [model.id]);
  return ctx.em.refreshOrFail(model);
}

/** A model by its alias or its id. @throws `missing_permission`, `model_not_found` */
export async function readModel(
  ctx: Context,
  input: { alias: string } | { modelId: string },
): Promise<ListedModel> {
  authorize(ctx.caller, 'models.read');
  const model = await ('alias' in input ? findModel(ctx, input.alias) : findModelById(ctx, input.modelId));
  const price = (await pricesInForce(ctx.em, [model.id])).get(model.id);
  if (price === undefined) {
    throw new Error('The model has no price.');
  }
  return { model, price };
}

function found(model: Model | null): Model {
  if (model === null) {
    throw notFound('model_not_found');
  }
  return model;
}
