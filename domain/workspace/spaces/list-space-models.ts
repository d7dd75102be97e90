import type { Context } from '#domain/foundation/access/context.ts';
import { authorize } from '#domain/foundation/access/policy.ts';
import { spaceOf } from '#domain/foundation/access/space-of.ts';
import { Model } from '#domain/capabilities/models/model.entity.ts';
import { SpaceModel } from '#domain/capabilities/models/space-model.entity.ts';
import { findSpace } from './find-space.ts';

/** The aliases that the caller's space allows, and its default. @throws `missing_permission` */
export async function listSpaceModels(
  ctx: Context,
): Promise<{ models: string[]; defaultModel: string | null }> {
  authorize(ctx.caller, 'spaces.read');
  const space = await findSpace(ctx.em, spaceOf(ctx.caller));
  const allowed = await ctx.em.find(SpaceModel, { spaceId: space.id });
  const models = await ctx.em.find(
    Model,
    { id: { $in: allowed.map(({ modelId }) => modelId) } },
    { orderBy: { alias: 'asc' } },
  );
  return {
    models: models.map(({ alias }) => alias),
    defaultModel: models.find(({ id }) => id === space.defaultModelId)?.alias ?? null,
  };
}
