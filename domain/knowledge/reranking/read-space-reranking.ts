import type { EntityManager } from '@mikro-orm/postgresql';
import type { Context } from '#domain/foundation/access/context.ts';
import { authorize } from '#domain/foundation/access/policy.ts';
import { spaceOf } from '#domain/foundation/access/space-of.ts';
import { RerankingModel } from './reranking-model.entity.ts';
import { SpaceReranking } from './space-reranking.entity.ts';

/** What a space has chosen. */
export interface ChosenReranking {
  choice: SpaceReranking;
  model: RerankingModel;
}

/** null: the space has no reranking model. @throws `missing_permission` */
export async function readSpaceReranking(ctx: Context): Promise<ChosenReranking | null> {
  authorize(ctx.caller, 'collections.read');
  return spaceReranking(ctx.em, spaceOf(ctx.caller));
}

export async function spaceReranking(em: EntityManager, spaceId: string): Promise<ChosenReranking | null> {
  const choice = await em.findOne(SpaceReranking, { spaceId });
  const model = choice && (await em.findOne(RerankingModel, { id: choice.modelId }));
  return choice && model && { choice, model };
}
