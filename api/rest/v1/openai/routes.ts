import '#api/plugins/route-config.ts';
import type { ZodTypeProvider } from '@fastify/type-provider-zod';
import type { FastifyInstance } from 'fastify';
import { contentBodyLimit } from '#api/body-limits.ts';
import type { GatewayDependencies } from '#api/compose.ts';
import { errorResponses } from '#api/contract/common.ts';
import * as asked from '#api/contract/openai/request.ts';
import * as answered from '#api/contract/openai/response.ts';
import { cancelResponse } from '#domain/responses/end/cancel-response.ts';
import { deleteResponse } from '#domain/responses/end/delete-response.ts';
import { pageInputItems } from '#domain/responses/read/page-input-items.ts';
import { handleOpenAiCreate } from './create.ts';
import { normalizeBody } from './normalize.ts';
import { handleOpenAiRetrieve, rejectIncluding } from './retrieve.ts';
import { present } from './show.ts';

const tags = ['OpenAI-compatible'];
const own = 'the caller’s own responses';
const reads = { none: 'reads' };
const ends = ['space.response_cancelled'] as const;
const base = '/spaces/:space_id/openai/responses';

/** `…/openai`, a base URL for clients of OpenAI's Responses API. */
export function openAiResponseRoutes(deps: GatewayDependencies) {
  return async (instance: FastifyInstance): Promise<void> => {
    const app = instance.withTypeProvider<ZodTypeProvider>();

    app.post(
      base,
      {
        bodyLimit: contentBodyLimit,
        config: {
          permission: 'responses.create',
          streams: true,
          // The workflow or request that ends the response records its end.
          audit: ['security.pii_detected', 'security.content_blocked'],
        },
        schema: {
          tags,
          operationId: 'openAiCreateResponse',
          summary: 'Create a response',
          description:
            'Answers with the ended response, with `background: true` at once, with `stream: true` with its ' +
            'events as SSE. Unimplemented fields are accepted with their default value only.',
          params: asked.openAiParams,
          headers: asked.openAiCreateHeaders,
          body: asked.openAiCreateBody,
          response: { 200: answered.openAiResponse, ...errorResponses },
        },
        preValidation: async (request) => {
          request.body = normalizeBody(request.body) as typeof request.body;
        },
      },
      (request, reply) => handleOpenAiCreate(deps, request, reply),
    );

    app.get(
      `${base}/:response_id`,
      {
        config: { permission: 'responses.read', streams: true, own, audit: reads },
        schema: {
          tags,
          operationId: 'openAiRetrieveResponse',
          summary: 'Read a response, or attach to its stream',
          params: asked.openAiResponseParams,
          querystring: asked.openAiRetrieveQuery,
          headers: asked.openAiCreateHeaders.pick({ 'last-event-id': true }),
          response: { 200: answered.openAiResponse, ...errorResponses },
        },
      },
      (request, reply) => handleOpenAiRetrieve(deps, request, reply),
    );

    app.post(
      `${base}/:response_id/cancel`,
      {
        config: { permission: 'responses.cancel', own, audit: ends },
        schema: {
          tags,
          operationId: 'openAiCancelResponse',
          summary: 'Cancel a running response, in the background or not',
          params: asked.openAiResponseParams,
          response: { 200: answered.openAiResponse, ...errorResponses },
        },
      },
      async (request) => {
        const { space_id: spaceId, response_id: responseId } = request.params;
        const record = await request.inContext(spaceId, (ctx) => cancelResponse(ctx, { responseId }));
        return present(deps, request, { spaceId, responseId, record });
      },
    );

    app.delete(
      `${base}/:response_id`,
      {
        config: { permission: 'responses.delete', own, audit: ['space.response_deleted', ...ends] },
        schema: {
          tags,
          operationId: 'openAiDeleteResponse',
          summary: 'Delete a response, cancelling it first if it runs',
          params: asked.openAiResponseParams,
          response: { 200: answered.openAiDeleted, ...errorResponses },
        },
      },
      async (request) => {
        const { space_id: spaceId, response_id: responseId } = request.params;
        const { id } = await request.inContext(spaceId, (ctx) => deleteResponse(ctx, { responseId }));
        return { id, object: 'response' as const, deleted: true as const };
      },
    );

    app.get(
      `${base}/:response_id/input_items`,
      {
        config: { permission: 'responses.read', own, audit: reads },
        schema: {
          tags,
          operationId: 'openAiListInputItems',
          summary: 'List the input items of a response',
          params: asked.openAiResponseParams,
          querystring: asked.openAiInputItemsQuery,
          response: { 200: answered.openAiItemList, ...errorResponses },
        },
      },
      async (request) => {
        const { space_id: spaceId, response_id: responseId } = request.params;
        rejectIncluding(request.query);
        const { limit, order, after = null } = request.query;
        const { items, hasMore } = await request.inContext(spaceId, (ctx) =>
          pageInputItems(ctx, { responseId, limit, order, after }),
        );
        return {
          object: 'list' as const,
          data: items,
          first_id: items[0]?.id ?? null,
          last_id: items.at(-1)?.id ?? null,
          has_more: hasMore,
        };
      },
    );
  };
}
