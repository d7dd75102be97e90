import { LockMode } from '@mikro-orm/core';
import type { Context } from '#domain/foundation/access/context.ts';
import { authorize } from '#domain/foundation/access/policy.ts';
import { spaceOf } from '#domain/foundation/access/space-of.ts';
import { recordEvent } from '#domain/foundation/events/record-event.ts';
import { invalid } from '#domain/foundation/kernel/errors.ts';
import { databaseNow } from '#domain/foundation/persistence/database-now.ts';
import { findRerankingModel } from './find-reranking-model.ts';
import type { RerankingModel } from './reranking-model.entity.ts';
import { spaceReranking, type ChosenReranking } from './read-space-reranking.ts';
import { SpaceReranking } from './space-reranking.entity.ts';

export interface ChangeSpaceReranking {
  /** null: the searches of the space are no longer reranked. */
  modelId: string | null;
  /** Whether searches that do not ask for it are reranked. Omitted: they are. */
  byDefault?: boolean;
}

/**
 * Chooses the model that reranks the searches of the space, from the next one on. A repeat changes nothing.
 * @throws `missing_permission`, `model_not_found`, `invalid_request` for a disabled model
 */
export async function changeSpaceReranking(
  ctx: Context,
  { modelId, byDefault = true }: ChangeSpaceReranking,
): Promise<ChosenReranking | null> {
  authorize(ctx.caller, 'spaces.manage_models');
  const { em, caller } = ctx;
  const spaceId = spaceOf(caller);
  const model = modelId === null ? null : await chosenModel(ctx, modelId);
  // Changes of a space's choice take turns: two first ones would insert the same row.
  await em.execute('select pg_advisory_xact_lock(hashtextextended(?, 0))', [
    `${caller.tenantId}/reranking/${spaceId}`,
  ]);
  const before = await em.findOne(SpaceReranking, { spaceId });
  const isSame = before?.modelId === model?.id && (model === null || before?.byDefault === byDefault);
  if (isSame) {
    return spaceReranking(em, spaceId);
  }
  if (before !== null && model === null) {
    await em.remove(before).flush();
  } else if (before !== null) {
    Object.assign(before, { modelId: model?.id, byDefault, chosenAt: await databaseNow(em) });
    await em.flush();
  } else if (model !== null) {
    em.create(SpaceReranking, { tenantId: caller.tenantId, spaceId, modelId: model.id, byDefault });
    await em.flush();
  }
  await recordEvent(em, caller, {
    type: 'space.updated',
    resource: { type: 'space', id: spaceId },
    changedFields: ['reranking_model'],
    metadata: model === null ? {} : { alias: model.alias, by_default: byDefault },
  });
  return spaceReranking(em, spaceId);
}

/** Locked, so that it is not disabled meanwhile. */
async function chosenModel(ctx: Context, modelId: string): Promise<RerankingModel> {
  const model = await findRerankingModel(ctx, modelId, LockMode.PESSIMISTIC_READ);
  if (model.disabledAt != null) {
    throw invalid('model_id', `The reranking model ${model.alias} is disabled.`);
  }
  return model;
}
