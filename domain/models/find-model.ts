import type { Context } from '#domain/access/context.ts';
import { notFound } from '#domain/kernel/errors.ts';
import { Model } from './model.entity.ts';

/** A model of the tenant, disabled or not, by its alias. @throws `model_not_found` */
export async function findModel(ctx: Context, alias: string): Promise<Model> {
  const model = await ctx.em.findOne(Model, { alias });
  if (model === null) {
    throw notFound('model_not_found');
  }
  return model;
}
