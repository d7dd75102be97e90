import type { EntityManager } from '@mikro-orm/postgresql';
import { EmbeddingGeneration } from './embedding-generation.entity.ts';
import { EmbeddingModel } from './embedding-model.entity.ts';

/** A generation with its model. */
export interface LiveGeneration {
  generation: EmbeddingGeneration;
  model: EmbeddingModel;
}

/** The generations of a space that new passages get vectors of: first the active, then the one under construction. */
export async function liveGenerations(em: EntityManager, spaceId: string): Promise<LiveGeneration[]> {
  const generations = await em.find(
    EmbeddingGeneration,
    { spaceId, state: { $in: ['active', 'building'] } },
    { orderBy: { state: 'asc' } },
  );
  const models = await em.find(EmbeddingModel, { id: { $in: generations.map(({ modelId }) => modelId) } });
  const byId = new Map(models.map((model) => [model.id, model]));
  return generations.flatMap((generation) => {
    const model = byId.get(generation.modelId);
    return model === undefined ? [] : [{ generation, model }];
  });
}

/** The generation that searches of a space use; null before its first document was embedded. */
export async function activeGeneration(em: EntityManager, spaceId: string): Promise<LiveGeneration | null> {
  const generation = await em.findOne(EmbeddingGeneration, { spaceId, state: 'active' });
  const model = generation && (await em.findOne(EmbeddingModel, { id: generation.modelId }));
  return generation && model && { generation, model };
}
