import '#api/plugins/route-config.ts';
import type { FastifyInstance } from 'fastify';
import type { ZodTypeProvider } from '@fastify/type-provider-zod';
import { errorResponses, spaceParams } from '#api/contract/common.ts';
import { embeddingUsageQuery } from '#api/contract/embeddings.ts';
import * as contract from '#api/contract/reranking.ts';
import { presentRerankingUsage, presentSpaceReranking } from '#api/present/reranking.ts';
import { toPage } from '#api/present/page.ts';
import { changeSpaceReranking } from '#domain/knowledge/reranking/change-space-reranking.ts';
import { listRerankingUsage } from '#domain/knowledge/reranking/list-reranking-usage.ts';
import { readSpaceReranking } from '#domain/knowledge/reranking/read-space-reranking.ts';

const tags = ['Spaces'];
const path = '/spaces/:space_id/reranking';

/** The model that orders the passages of a space's searches. */
export async function spaceRerankingRoutes(instance: FastifyInstance): Promise<void> {
  const app = instance.withTypeProvider<ZodTypeProvider>();

  app.get(
    path,
    {
      config: { permission: 'collections.read', audit: { none: 'reads' } },
      schema: {
        tags,
        operationId: 'getSpaceReranking',
        summary: 'Read the reranking model of a space',
        params: spaceParams,
        response: { 200: contract.spaceRerankingEnvelope, ...errorResponses },
      },
    },
    async (request) => ({
      data: presentSpaceReranking(await request.inContext(request.params.space_id, readSpaceReranking)),
    }),
  );

  app.put(
    path,
    {
      config: { permission: 'spaces.manage_models', audit: ['space.updated'] },
      schema: {
        tags,
        operationId: 'changeSpaceReranking',
        summary: 'Choose the reranking model of a space',
        description: 'Searches use it from the next one on.',
        params: spaceParams,
        body: contract.changeSpaceRerankingBody,
        response: { 200: contract.spaceRerankingEnvelope, ...errorResponses },
      },
    },
    async (request) => {
      const { model_id: modelId, by_default: byDefault = true } = request.body;
      const chosen = await request.inContext(request.params.space_id, (ctx) =>
        changeSpaceReranking(ctx, { modelId, byDefault }),
      );
      return { data: presentSpaceReranking(chosen) };
    },
  );

  app.get(
    `${path}/usage`,
    {
      config: { permission: 'usage.read', audit: { none: 'reads' } },
      schema: {
        tags,
        operationId: 'listRerankingUsage',
        summary: 'List what was reranked in a space, by day and model',
        params: spaceParams,
        querystring: embeddingUsageQuery,
        response: { 200: contract.rerankingUsagePage, ...errorResponses },
      },
    },
    async (request) => {
      const { days, limit, cursor } = request.query;
      const page = await request.inContext(request.params.space_id, (ctx) =>
        listRerankingUsage(ctx, { days, limit, cursor: cursor ?? null }),
      );
      return toPage({ ...page, items: page.items.map(presentRerankingUsage) });
    },
  );
}
