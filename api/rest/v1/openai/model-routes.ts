import '#api/plugins/route-config.ts';
import type { ZodTypeProvider } from '@fastify/type-provider-zod';
import type { FastifyInstance } from 'fastify';
import { errorResponses } from '#api/contract/common.ts';
import { openAiModelParams, openAiParams } from '#api/contract/openai/request.ts';
import { openAiModel, openAiModelList } from '#api/contract/openai/response.ts';
import { presentOpenAiModel } from '#api/present/openai/model.ts';
import { findAllowedModel, listAllowedModels } from '#domain/capabilities/models/list-allowed-models.ts';

const tags = ['OpenAI-compatible'];
const config = { permission: 'spaces.read', audit: { none: 'reads' } } as const;

/** The models of a space, in the form of OpenAI's list. */
export async function openAiModelRoutes(instance: FastifyInstance): Promise<void> {
  const app = instance.withTypeProvider<ZodTypeProvider>();

  app.get(
    '/spaces/:space_id/openai/models',
    {
      config,
      schema: {
        tags,
        operationId: 'openAiListModels',
        summary: 'List the models that the space allows',
        params: openAiParams,
        response: { 200: openAiModelList, ...errorResponses },
      },
    },
    async (request) => {
      const { space_id: spaceId } = request.params;
      const models = await request.inContext(spaceId, (ctx) => listAllowedModels(ctx, { spaceId }));
      return { object: 'list' as const, data: models.map(presentOpenAiModel) };
    },
  );

  app.get(
    '/spaces/:space_id/openai/models/:model',
    {
      config,
      schema: {
        tags,
        operationId: 'openAiRetrieveModel',
        summary: 'Read a model that the space allows',
        params: openAiModelParams,
        response: { 200: openAiModel, ...errorResponses },
      },
    },
    async (request) => {
      const { space_id: spaceId, model: alias } = request.params;
      return presentOpenAiModel(
        await request.inContext(spaceId, (ctx) => findAllowedModel(ctx, { spaceId, alias })),
      );
    },
  );
}
