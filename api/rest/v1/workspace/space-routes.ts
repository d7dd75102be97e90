import '#api/plugins/route-config.ts';
import type { FastifyInstance } from 'fastify';
import type { ZodTypeProvider } from '@fastify/type-provider-zod';
import { createHeaders, listQuery } from '#api/contract/identity.ts';
import { spaceEnvelope, spaceModels, spacePage } from '#api/contract/administration.ts';
import { deleted, errorResponses, spaceParams } from '#api/contract/common.ts';
import * as contract from '#api/contract/workspace.ts';
import { presentSpace } from '#api/present/administration.ts';
import { toPage } from '#api/present/page.ts';
import { deleteSpace } from '#domain/workspace/spaces/delete-space.ts';
import { listSpaceModels } from '#domain/workspace/spaces/list-space-models.ts';
import { listSpaces } from '#domain/workspace/spaces/list-spaces.ts';
import { openSpace } from '#domain/workspace/spaces/open-space.ts';
import { readSpace } from '#domain/workspace/spaces/read-space.ts';
import { setSpaceModels } from '#domain/workspace/spaces/set-space-models.ts';
import { updateSpace } from '#domain/workspace/spaces/update-space.ts';
import { markCreated } from '../created.ts';
import { idempotencyOf } from '../idempotency.ts';

const tags = ['Spaces'];
const reads = { none: 'reads' };

export async function spaceRoutes(instance: FastifyInstance): Promise<void> {
  const app = instance.withTypeProvider<ZodTypeProvider>();

  app.post(
    '/spaces',
    {
      config: { permission: 'spaces.create', audit: ['space.created'] },
      schema: {
        tags,
        operationId: 'createSpace',
        summary: 'Create a space, which the caller administers',
        headers: createHeaders,
        body: contract.createSpaceBody,
        response: { 200: spaceEnvelope, 201: spaceEnvelope, ...errorResponses },
      },
    },
    async (request, reply) => {
      const { headers, body } = request;
      const idempotency = idempotencyOf(headers['idempotency-key'], '/v1/spaces', body);
      const { space, replayed } = await request.inContext(null, (ctx) =>
        openSpace(ctx, { name: body.name, idempotency }),
      );
      markCreated(reply, replayed);
      return { data: presentSpace(space) };
    },
  );

  app.get(
    '/spaces',
    {
      config: { permission: 'spaces.read', own: 'the caller’s own spaces', audit: reads },
      schema: {
        tags,
        operationId: 'listSpaces',
        summary: 'List spaces, newest first: all of the tenant, or the caller’s own',
        querystring: listQuery,
        response: { 200: spacePage, ...errorResponses },
      },
    },
    async (request) => {
      const { limit, cursor } = request.query;
      const page = await request.inContext(null, (ctx) => listSpaces(ctx, { limit, cursor: cursor ?? null }));
      return toPage({ ...page, items: page.items.map(presentSpace) });
    },
  );

  app.get(
    '/spaces/:space_id',
    {
      config: { permission: 'spaces.read', audit: reads },
      schema: {
        tags,
        operationId: 'getSpace',
        summary: 'Read a space',
        params: spaceParams,
        response: { 200: spaceEnvelope, ...errorResponses },
      },
    },
    async (request) => {
      return { data: presentSpace(await request.inContext(request.params.space_id, readSpace)) };
    },
  );

  app.patch(
    '/spaces/:space_id',
    {
      config: { permission: 'spaces.update', audit: ['space.updated'] },
      schema: {
        tags,
        operationId: 'updateSpace',
        summary: 'Change a space',
        params: spaceParams,
        body: contract.updateSpaceBody,
        response: { 200: spaceEnvelope, ...errorResponses },
      },
    },
    async (request) => {
      const { space_id: spaceId } = request.params;
      const { name, openai_tools: openAiTools } = request.body;
      const space = await request.inContext(spaceId, (ctx) => updateSpace(ctx, { name, openAiTools }));
      return { data: presentSpace(space) };
    },
  );

  app.delete(
    '/spaces/:space_id',
    {
      config: { permission: 'spaces.delete', audit: ['space.deleted'] },
      schema: {
        tags,
        operationId: 'deleteSpace',
        summary: 'Delete a space with everything in it',
        params: spaceParams,
        response: { 200: deleted, ...errorResponses },
      },
    },
    async (request) => {
      const { space_id: id } = request.params;
      await request.inContext(id, deleteSpace);
      return { data: { id, deleted: true as const } };
    },
  );

  app.get(
    '/spaces/:space_id/models',
    {
      config: { permission: 'spaces.read', audit: reads },
      schema: {
        tags,
        operationId: 'getSpaceModels',
        summary: 'Read the models that a space allows',
        params: spaceParams,
        response: { 200: spaceModels, ...errorResponses },
      },
    },
    async (request) => {
      const { models, defaultModel } = await request.inContext(request.params.space_id, listSpaceModels);
      return { data: { models, default_model: defaultModel } };
    },
  );

  app.put(
    '/spaces/:space_id/models',
    {
      config: { permission: 'spaces.manage_models', audit: ['space.models_updated'] },
      schema: {
        tags,
        operationId: 'setSpaceModels',
        summary: 'Replace the models that a space allows',
        params: spaceParams,
        body: contract.setSpaceModelsBody,
        response: { 200: spaceModels, ...errorResponses },
      },
    },
    async (request) => {
      const { models, default_model: defaultModel } = request.body;
      const allowed = await request.inContext(request.params.space_id, async (ctx) => {
        await setSpaceModels(ctx, { models, defaultModel });
        return [...new Set(models)].sort();
      });
      return { data: { models: allowed, default_model: defaultModel } };
    },
  );
}
