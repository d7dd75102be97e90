import '#api/plugins/route-config.ts';
import type { FastifyInstance } from 'fastify';
import type { ZodTypeProvider } from '@fastify/type-provider-zod';
import { errorResponses, spaceParams } from '#api/contract/common.ts';
import * as contract from '#api/contract/embeddings.ts';
import { presentEmbeddingUsage, presentSpaceEmbedding } from '#api/present/embeddings.ts';
import { toPage } from '#api/present/page.ts';
import {
  cancelSpaceEmbedding,
  changeSpaceEmbedding,
} from '#domain/knowledge/embeddings/change-space-embedding.ts';
import { listEmbeddingUsage } from '#domain/knowledge/embeddings/list-embedding-usage.ts';
import { readSpaceEmbedding } from '#domain/knowledge/embeddings/read-space-embedding.ts';

const tags = ['Spaces'];
const path = '/spaces/:space_id/embedding';

/** By which model the documents of a space are found by meaning. */
export async function spaceEmbeddingRoutes(instance: FastifyInstance): Promise<void> {
  const app = instance.withTypeProvider<ZodTypeProvider>();

  app.get(
    path,
    {
      config: { permission: 'collections.read', audit: { none: 'reads' } },
      schema: {
        tags,
        operationId: 'getSpaceEmbedding',
        summary: 'Read the embedding model of a space, and the progress of its change',
        params: spaceParams,
        response: { 200: contract.spaceEmbeddingEnvelope, ...errorResponses },
      },
    },
    async (request) => ({
      data: presentSpaceEmbedding(await request.inContext(request.params.space_id, readSpaceEmbedding)),
    }),
  );

  app.put(
    path,
    {
      config: { permission: 'spaces.manage_models', audit: ['space.updated'] },
      schema: {
        tags,
        operationId: 'changeSpaceEmbedding',
        summary: 'Embed the documents of a space by another model',
        description:
          'Answers at once. Searches use the present vectors until all documents have the new ones, and then those.',
        params: spaceParams,
        body: contract.changeSpaceEmbeddingBody,
        response: { 202: contract.spaceEmbeddingEnvelope, ...errorResponses },
      },
    },
    async (request, reply) => {
      const { model_id: modelId } = request.body;
      const embedding = await request.inContext(request.params.space_id, (ctx) =>
        changeSpaceEmbedding(ctx, { modelId }),
      );
      reply.code(202);
      return { data: presentSpaceEmbedding(embedding) };
    },
  );

  app.post(
    `${path}/cancel`,
    {
      config: { permission: 'spaces.manage_models', audit: ['space.updated'] },
      schema: {
        tags,
        operationId: 'cancelSpaceEmbedding',
        summary: 'Cancel the change of the embedding model of a space',
        params: spaceParams,
        response: { 200: contract.spaceEmbeddingEnvelope, ...errorResponses },
      },
    },
    async (request) => ({
      data: presentSpaceEmbedding(await request.inContext(request.params.space_id, cancelSpaceEmbedding)),
    }),
  );

  app.get(
    `${path}/usage`,
    {
      config: { permission: 'usage.read', audit: { none: 'reads' } },
      schema: {
        tags,
        operationId: 'listEmbeddingUsage',
        summary: 'List what was embedded in a space, by day and model',
        params: spaceParams,
        querystring: contract.embeddingUsageQuery,
        response: { 200: contract.embeddingUsagePage, ...errorResponses },
      },
    },
    async (request) => {
      const { days, limit, cursor } = request.query;
      const page = await request.inContext(request.params.space_id, (ctx) =>
        listEmbeddingUsage(ctx, { days, limit, cursor: cursor ?? null }),
      );
      return toPage({ ...page, items: page.items.map(presentEmbeddingUsage) });
    },
  );
}
