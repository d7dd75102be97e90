import type { Context } from '#domain/foundation/access/context.ts';
import { authorize } from '#domain/foundation/access/policy.ts';
import { notFound } from '#domain/foundation/kernel/errors.ts';
import { Model } from './model.entity.ts';
import { SpaceModel } from './space-model.entity.ts';

/** The models that a space's responses may use, by alias. */
export async function listAllowedModels(ctx: Context, input: { spaceId: string }): Promise<Model[]> {
  authorize(ctx.caller, 'spaces.read');
  const allowed = await ctx.em.find(SpaceModel, { spaceId: input.spaceId });
  return ctx.em.find(
    Model,
    { id: { $in: allowed.map(({ modelId }) => modelId) } },
    { orderBy: { alias: 'asc' } },
  );
}

/** @throws `model_not_found`, also for a model that the space does not allow */
export async function findAllowedModel(
  ctx: Context,
  input: { spaceId: string; alias: string },
): Promise<Model> {
  const models = await listAllowedModels(ctx, input);
  const model = models.find(({ alias }) => alias === input.alias);
  if (model === undefined) {
    throw notFound('model_not_found');
  }
  return model;
}
