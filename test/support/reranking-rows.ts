import { createGuardedFetch } from '#adapters/egress/guarded-fetch.ts';
import { createRerankers } from '#adapters/reranking/create-rerankers.ts';
import { newId } from '#domain/foundation/kernel/ids.ts';
import { changeSpaceReranking } from '#domain/knowledge/reranking/change-space-reranking.ts';
import { registerRerankingModel } from '#domain/knowledge/reranking/register-reranking-model.ts';
import type { Rerankers } from '#domain/knowledge/reranking/reranker.ts';
import type { RerankingModel } from '#domain/knowledge/reranking/reranking-model.entity.ts';
import type { KnowledgeWorld, SpaceFixture } from './knowledge-world.ts';
import type { RerankServer } from './wire-fakes/rerank-server.ts';

/** The rerankers of a process that may reach a server. */
export const rerankersFor = ({ origin }: RerankServer): Rerankers =>
  createRerankers({
    fetch: createGuardedFetch([origin]),
    credential: () => undefined,
    stored: { read: async () => Promise.reject(new Error('no key is stored')), refused: () => undefined },
  });

/** Makes a model of a server the one of a space. */
export async function rerankBy(
  world: KnowledgeWorld,
  space: SpaceFixture,
  server: RerankServer,
  more: { byDefault?: boolean; price?: string; searchPrice?: string } = {},
): Promise<RerankingModel> {
  const { byDefault = true, ...prices } = more;
  return world.act(space, async (ctx) => {
    const { model } = await registerRerankingModel(ctx, {
      alias: `judge-${newId()}`,
      providerKind: 'rerank_compatible',
      providerModel: 'judge-1',
      baseUrl: server.baseUrl('rerank_compatible'),
      ...prices,
    });
    await changeSpaceReranking(ctx, { modelId: model.id, byDefault });
    return model;
  });
}
