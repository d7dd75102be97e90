import {
  embeddingModelEnvelope,
  embeddingModelPage,
  embeddingUsagePage,
  spaceEmbeddingEnvelope,
} from '#api/contract/embeddings.ts';
import * as inputs from '#api/contract/procedures.ts';
import { toChanges, toNewEmbeddingModel } from '#api/present/embedding-input.ts';
import {
  presentEmbeddingModel,
  presentEmbeddingUsage,
  presentSpaceEmbedding,
} from '#api/present/embeddings.ts';
import { toPage } from '#api/present/page.ts';
import {
  cancelSpaceEmbedding,
  changeSpaceEmbedding,
} from '#domain/knowledge/embeddings/change-space-embedding.ts';
import { readEmbeddingModel } from '#domain/knowledge/embeddings/find-embedding-model.ts';
import { listEmbeddingModels } from '#domain/knowledge/embeddings/list-embedding-models.ts';
import { listEmbeddingUsage } from '#domain/knowledge/embeddings/list-embedding-usage.ts';
import { readSpaceEmbedding } from '#domain/knowledge/embeddings/read-space-embedding.ts';
import { registerEmbeddingModel } from '#domain/knowledge/embeddings/register-embedding-model.ts';
import { updateEmbeddingModel } from '#domain/knowledge/embeddings/update-embedding-model.ts';
import { procedure, reads, router } from './trpc.ts';

export const embeddingModels = router({
  list: procedure({ permission: 'models.read', audit: reads })
    .input(inputs.listInput)
    .output(embeddingModelPage)
    .query(async ({ ctx: { request }, input: { limit, cursor } }) => {
      const page = await request.inContext(null, (ctx) =>
        listEmbeddingModels(ctx, { limit, cursor: cursor ?? null }),
      );
      return toPage({ ...page, items: page.items.map(presentEmbeddingModel) });
    }),

  get: procedure({ permission: 'models.read', audit: reads })
    .input(inputs.embeddingModelInput)
    .output(embeddingModelEnvelope)
    .query(async ({ ctx: { request }, input: { embedding_model_id: id } }) => ({
      data: presentEmbeddingModel(await request.inContext(null, (ctx) => readEmbeddingModel(ctx, id))),
    })),

  add: procedure({ permission: 'models.manage', audit: ['system.model_added'] })
    .input(inputs.addEmbeddingModelInput)
    .output(embeddingModelEnvelope)
    .mutation(async ({ ctx: { request }, input }) => {
      const { model } = await request.inContext(null, (ctx) =>
        registerEmbeddingModel(ctx, toNewEmbeddingModel(input)),
      );
      return { data: presentEmbeddingModel(model) };
    }),

  update: procedure({ permission: 'models.manage', audit: ['system.model_updated', 'system.model_removed'] })
    .input(inputs.updateEmbeddingModelInput)
    .output(embeddingModelEnvelope)
    .mutation(async ({ ctx: { request }, input: { embedding_model_id: id, ...changes } }) => {
      const model = await request.inContext(null, (ctx) =>
        updateEmbeddingModel(ctx, { id, ...toChanges(changes) }),
      );
      return { data: presentEmbeddingModel(model) };
    }),
});

/** By which model the documents of a space are found by meaning. */
export const spaceEmbedding = router({
  get: procedure({ permission: 'collections.read', audit: reads })
    .input(inputs.spaceInput)
    .output(spaceEmbeddingEnvelope)
    .query(async ({ ctx: { request }, input }) => ({
      data: presentSpaceEmbedding(await request.inContext(input.space_id, readSpaceEmbedding)),
    })),

  change: procedure({ permission: 'spaces.manage_models', audit: ['space.updated'] })
    .input(inputs.changeSpaceEmbeddingInput)
    .output(spaceEmbeddingEnvelope)
    .mutation(async ({ ctx: { request }, input: { space_id: spaceId, model_id: modelId } }) => ({
      data: presentSpaceEmbedding(
        await request.inContext(spaceId, (ctx) => changeSpaceEmbedding(ctx, { modelId })),
      ),
    })),

  cancel: procedure({ permission: 'spaces.manage_models', audit: ['space.updated'] })
    .input(inputs.spaceInput)
    .output(spaceEmbeddingEnvelope)
    .mutation(async ({ ctx: { request }, input }) => ({
      data: presentSpaceEmbedding(await request.inContext(input.space_id, cancelSpaceEmbedding)),
    })),

  usage: procedure({ permission: 'usage.read', audit: reads })
    .input(inputs.embeddingUsageInput)
    .output(embeddingUsagePage)
    .query(async ({ ctx: { request }, input: { space_id: spaceId, days, limit, cursor } }) => {
      const page = await request.inContext(spaceId, (ctx) =>
        listEmbeddingUsage(ctx, { days, limit, cursor: cursor ?? null }),
      );
      return toPage({ ...page, items: page.items.map(presentEmbeddingUsage) });
    }),
});
