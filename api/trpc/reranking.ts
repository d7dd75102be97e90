import * as inputs from '#api/contract/procedures.ts';
import {
  rerankingModelEnvelope,
  rerankingModelPage,
  rerankingUsagePage,
  spaceRerankingEnvelope,
} from '#api/contract/reranking.ts';
import { toPage } from '#api/present/page.ts';
import {
  presentRerankingModel,
  presentRerankingUsage,
  presentSpaceReranking,
  toNewRerankingModel,
  toRerankingChanges,
} from '#api/present/reranking.ts';
import { changeSpaceReranking } from '#domain/knowledge/reranking/change-space-reranking.ts';
import { readRerankingModel } from '#domain/knowledge/reranking/find-reranking-model.ts';
import { listRerankingModels } from '#domain/knowledge/reranking/list-reranking-models.ts';
import { listRerankingUsage } from '#domain/knowledge/reranking/list-reranking-usage.ts';
import { readSpaceReranking } from '#domain/knowledge/reranking/read-space-reranking.ts';
import { registerRerankingModel } from '#domain/knowledge/reranking/register-reranking-model.ts';
import { updateRerankingModel } from '#domain/knowledge/reranking/update-reranking-model.ts';
import { procedure, reads, router } from './trpc.ts';

export const rerankingModels = router({
  list: procedure({ permission: 'models.read', audit: reads })
    .input(inputs.listInput)
    .output(rerankingModelPage)
    .query(async ({ ctx: { request }, input: { limit, cursor } }) => {
      const page = await request.inContext(null, (ctx) =>
        listRerankingModels(ctx, { limit, cursor: cursor ?? null }),
      );
      return toPage({ ...page, items: page.items.map(presentRerankingModel) });
    }),

  get: procedure({ permission: 'models.read', audit: reads })
    .input(inputs.rerankingModelInput)
    .output(rerankingModelEnvelope)
    .query(async ({ ctx: { request }, input: { reranking_model_id: id } }) => ({
      data: presentRerankingModel(await request.inContext(null, (ctx) => readRerankingModel(ctx, id))),
    })),

  add: procedure({ permission: 'models.manage', audit: ['system.model_added'] })
    .input(inputs.addRerankingModelInput)
    .output(rerankingModelEnvelope)
    .mutation(async ({ ctx: { request }, input }) => {
      const { model } = await request.inContext(null, (ctx) =>
        registerRerankingModel(ctx, toNewRerankingModel(input)),
      );
      return { data: presentRerankingModel(model) };
    }),

  update: procedure({ permission: 'models.manage', audit: ['system.model_updated', 'system.model_removed'] })
    .input(inputs.updateRerankingModelInput)
    .output(rerankingModelEnvelope)
    .mutation(async ({ ctx: { request }, input: { reranking_model_id: id, ...changes } }) => {
      const model = await request.inContext(null, (ctx) =>
        updateRerankingModel(ctx, { id, ...toRerankingChanges(changes) }),
      );
      return { data: presentRerankingModel(model) };
    }),
});

/** The model that orders the passages of a space's searches. */
export const spaceReranking = router({
  get: procedure({ permission: 'collections.read', audit: reads })
    .input(inputs.spaceInput)
    .output(spaceRerankingEnvelope)
    .query(async ({ ctx: { request }, input }) => ({
      data: presentSpaceReranking(await request.inContext(input.space_id, readSpaceReranking)),
    })),

  change: procedure({ permission: 'spaces.manage_models', audit: ['space.updated'] })
    .input(inputs.changeSpaceRerankingInput)
    .output(spaceRerankingEnvelope)
    .mutation(async ({ ctx: { request }, input }) => {
      const { space_id: spaceId, model_id: modelId, by_default: byDefault = true } = input;
      const chosen = await request.inContext(spaceId, (ctx) =>
        changeSpaceReranking(ctx, { modelId, byDefault }),
      );
      return { data: presentSpaceReranking(chosen) };
    }),

  usage: procedure({ permission: 'usage.read', audit: reads })
    .input(inputs.rerankingUsageInput)
    .output(rerankingUsagePage)
    .query(async ({ ctx: { request }, input: { space_id: spaceId, days, limit, cursor } }) => {
      const page = await request.inContext(spaceId, (ctx) =>
        listRerankingUsage(ctx, { days, limit, cursor: cursor ?? null }),
      );
      return toPage({ ...page, items: page.items.map(presentRerankingUsage) });
    }),
});
