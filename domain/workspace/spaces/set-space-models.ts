import { authorize } from '#domain/foundation/access/policy.ts';
import type { Context } from '#domain/foundation/access/context.ts';
import { invalid, notFound } from '#domain/foundation/kernel/errors.ts';
import { Model } from '#domain/capabilities/models/model.entity.ts';
import { SpaceModel } from '#domain/capabilities/models/space-model.entity.ts';
import { allowModels } from './allow-models.ts';
import { lockSpace } from './lock-space.ts';

export interface SetSpaceModels {
  /** Aliases; exactly these are allowed from now on. */
  models: string[];
  /** One of `models`. */
  defaultModel: string;
}

/**
 * Replaces the allow-list of the caller's space; an equal list changes nothing.
 * @throws `missing_permission`, `model_not_found`, `invalid_request`
 */
export async function setSpaceModels(ctx: Context, input: SetSpaceModels): Promise<void> {
  authorize(ctx.caller, 'spaces.manage_models');
  const wanted = [...new Set(input.models)];
  if (wanted.length === 0 || wanted.length > 100) {
    throw invalid('models', 'models must name 1 to 100 models.');
  }
  const space = await lockSpace(ctx);
  const models = await ctx.em.find(Model, { alias: { $in: wanted } });
  if (models.length !== wanted.length) {
    throw notFound('model_not_found');
  }
  const chosen = models.find(({ alias }) => alias === input.defaultModel);
  if (chosen === undefined) {
    throw invalid('default_model', 'default_model must be one of models.');
  }
  const modelIds = models.map(({ id }) => id);
  const allowed = await ctx.em.find(SpaceModel, { spaceId: space.id });
  const isSame =
    space.defaultModelId === chosen.id &&
    allowed.length === modelIds.length &&
    allowed.every(({ modelId }) => modelIds.includes(modelId));
  if (isSame) {
    return;
  }
  await ctx.em.nativeDelete(SpaceModel, { spaceId: space.id, modelId: { $nin: modelIds } });
  await allowModels(ctx.em, ctx.caller, { space, modelIds, defaultModelId: chosen.id });
}
