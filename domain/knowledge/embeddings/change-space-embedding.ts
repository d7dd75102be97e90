import type { Context } from '#domain/foundation/access/context.ts';
import { authorize } from '#domain/foundation/access/policy.ts';
import { spaceOf } from '#domain/foundation/access/space-of.ts';
import { signalWithStart } from '#domain/foundation/durable/messages.ts';
import { recordEvent } from '#domain/foundation/events/record-event.ts';
import { DomainError, invalid } from '#domain/foundation/kernel/errors.ts';
import { newId } from '#domain/foundation/kernel/ids.ts';
import { databaseNow } from '#domain/foundation/persistence/database-now.ts';
import { EmbeddingGeneration } from './embedding-generation.entity.ts';
import { findEmbeddingModel } from './find-embedding-model.ts';
import { liveGenerations, type LiveGeneration } from './live-generations.ts';
import { spaceEmbedding, type SpaceEmbedding } from './read-space-embedding.ts';

/**
 * Begins to embed all documents of the space by another model. Searches use the vectors of the present one until the
 * others are complete. A repeat changes nothing.
 * @throws `missing_permission`, `model_not_found`, `invalid_request` for a disabled model, `invalid_state` while
 *   another change is under way
 */
export async function changeSpaceEmbedding(
  ctx: Context,
  input: { modelId: string },
): Promise<SpaceEmbedding> {
  authorize(ctx.caller, 'spaces.manage_models');
  const { em, caller } = ctx;
  const spaceId = spaceOf(caller);
  const { tenantId } = caller;
  const model = await findEmbeddingModel(ctx, input.modelId);
  const live = await lockLiveGenerations(ctx, spaceId);
  const building = buildingOf(live);
  // The last is what the space has, or will have.
  if (live.at(-1)?.model.id === model.id) {
    return spaceEmbedding(em, spaceId);
  }
  if (building !== undefined) {
    throw new DomainError(
      'invalid_state',
      `A change to ${building.model.alias} is under way: cancel it first.`,
    );
  }
  if (model.disabledAt != null) {
    throw invalid('model_id', `The embedding model ${model.alias} is disabled.`);
  }
  const [counted] = await em.execute<{ n: number }[]>(
    `select count(*)::int4 as n from documents
     where chunk_count > 0 and collection_id in (select id from collections where space_id = ?)`,
    [spaceId],
  );
  em.create(EmbeddingGeneration, {
    tenantId,
    id: newId(),
    spaceId,
    modelId: model.id,
    state: 'building',
    // The workflow computes it.
    mean: Buffer.alloc(0),
    documentsTotal: counted?.n ?? 0,
  });
  await em.flush();
  await ctx.enqueue(signalWithStart('embedSpace', { tenantId, spaceId }, 'wake', []));
  await recordChange(ctx, spaceId, { alias: model.alias, state: 'started' });
  return spaceEmbedding(em, spaceId);
}

/** Ends a change before it is complete; without one, nothing happens. The purge deletes its vectors. */
export async function cancelSpaceEmbedding(ctx: Context): Promise<SpaceEmbedding> {
  authorize(ctx.caller, 'spaces.manage_models');
  const spaceId = spaceOf(ctx.caller);
  const building = buildingOf(await lockLiveGenerations(ctx, spaceId));
  if (building !== undefined) {
    Object.assign(building.generation, { state: 'cancelled', endedAt: await databaseNow(ctx.em) });
    await ctx.em.flush();
    await recordChange(ctx, spaceId, { alias: building.model.alias, state: 'cancelled' });
  }
  return spaceEmbedding(ctx.em, spaceId);
}

/** Changes of a space's model take turns; its activation locks the same rows. */
async function lockLiveGenerations({ em, caller }: Context, spaceId: string): Promise<LiveGeneration[]> {
  await em.execute('select pg_advisory_xact_lock(hashtextextended(?, 0))', [
    `${caller.tenantId}/embedding/${spaceId}`,
  ]);
  await em.execute(
    `select from embedding_generations where space_id = ? and state in ('active', 'building') order by state for no key update`,
    [spaceId],
  );
  return liveGenerations(em, spaceId);
}

const buildingOf = (live: readonly LiveGeneration[]): LiveGeneration | undefined =>
  live.find(({ generation }) => generation.state === 'building');

async function recordChange(
  { em, caller }: Context,
  spaceId: string,
  metadata: { alias: string; state: 'started' | 'cancelled' },
): Promise<void> {
  await recordEvent(em, caller, {
    type: 'space.updated',
    resource: { type: 'space', id: spaceId },
    changedFields: ['embedding_model'],
    metadata,
  });
}
