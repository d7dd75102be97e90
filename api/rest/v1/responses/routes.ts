import '#api/plugins/route-config.ts';
import type { FastifyInstance } from 'fastify';
import type { ZodTypeProvider } from '@fastify/type-provider-zod';
import { contentBodyLimit } from '#api/body-limits.ts';
import type { GatewayDependencies } from '#api/compose.ts';
import { errorResponses } from '#api/contract/common.ts';
import * as contract from '#api/contract/responses.ts';
import { cancelResponse } from '#domain/responses/end/cancel-response.ts';
import { deleteResponse } from '#domain/responses/end/delete-response.ts';
import { listInputItems } from '#domain/responses/read/list-input-items.ts';
import { listResponses } from '#domain/responses/read/list-responses.ts';
import { toPage } from '#api/present/page.ts';
import { handleCreate } from './create.ts';
import { handleEvents } from './events.ts';
import { handleGet } from './get.ts';

const tags = ['Responses'];
const own = 'the caller’s own responses';
const reads = { none: 'reads' };
const ends = ['space.response_cancelled'] as const;

export function responseRoutes(deps: GatewayDependencies) {
  return async (instance: FastifyInstance): Promise<void> => {
    const app = instance.withTypeProvider<ZodTypeProvider>();

    app.post(
      '/spaces/:space_id/responses',
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
          operationId: 'createResponse',
          summary: 'Create a response',
          description:
            'Answers 202 with the queued response; with `stream: true` the response’s events as SSE; with ' +
            '`Prefer: wait=<seconds>` 200 once it has ended. An accepted response always reaches a terminal status.',
          params: contract.responseParams.pick({ space_id: true }),
          headers: contract.createResponseHeaders,
          body: contract.createResponseBody,
          response: { 200: contract.responseEnvelope, 202: contract.responseEnvelope, ...errorResponses },
        },
      },
      (request, reply) => handleCreate(deps, request, reply),
    );

    app.get(
      '/spaces/:space_id/responses',
      {
        config: { permission: 'responses.read', own, audit: reads },
        schema: {
          tags,
          operationId: 'listResponses',
          summary: 'List responses, newest first',
          params: contract.responseParams.pick({ space_id: true }),
          querystring: contract.listResponsesQuery,
          response: { 200: contract.responsePage, ...errorResponses },
        },
      },
      async (request) => {
        const { limit, cursor, status } = request.query;
        const spaceId = request.params.space_id;
        return toPage(
          await request.inContext(spaceId, (ctx) =>
            listResponses(ctx, { spaceId, limit, cursor: cursor ?? null, status: status ?? null }),
          ),
        );
      },
    );

    app.get(
      '/spaces/:space_id/responses/:response_id',
      {
        config: { permission: 'responses.read', streams: true, own, audit: reads },
        schema: {
          tags,
          operationId: 'getResponse',
          summary: 'Read a response, or attach to its stream',
          description:
            'With `stream=true` or `Accept: text/event-stream` the events after Last-Event-ID or starting_after.',
          params: contract.responseParams,
          querystring: contract.getResponseQuery,
          headers: contract.getResponseHeaders,
          response: { 200: contract.responseEnvelope, ...errorResponses },
        },
      },
      async (request, reply) => {
        await handleGet(deps, request, reply);
        return reply;
      },
    );

    app.post(
      '/spaces/:space_id/responses/:response_id/cancel',
      {
        config: { permission: 'responses.cancel', own, audit: ends },
        schema: {
          tags,
          operationId: 'cancelResponse',
          summary: 'Cancel a running response',
          params: contract.responseParams,
          response: { 200: contract.responseEnvelope, ...errorResponses },
        },
      },
      async (request) => {
        const { space_id: spaceId, response_id: responseId } = request.params;
        return { data: await request.inContext(spaceId, (ctx) => cancelResponse(ctx, { responseId })) };
      },
    );

    app.delete(
      '/spaces/:space_id/responses/:response_id',
      {
        config: { permission: 'responses.delete', own, audit: ['space.response_deleted', ...ends] },
        schema: {
          tags,
          operationId: 'deleteResponse',
          summary: 'Delete a response, cancelling it first if it runs',
          params: contract.responseParams,
          response: { 200: contract.responseDeleted, ...errorResponses },
        },
      },
      async (request) => {
        const { space_id: spaceId, response_id: responseId } = request.params;
        const { id } = await request.inContext(spaceId, (ctx) => deleteResponse(ctx, { responseId }));
        return { data: { id, object: 'response.deleted' as const, deleted: true as const } };
      },
    );

    app.get(
      '/spaces/:space_id/responses/:response_id/input_items',
      {
        config: { permission: 'responses.read', own, audit: reads },
        schema: {
          tags,
          operationId: 'listInputItems',
          summary: 'List the input items of a response',
          params: contract.responseParams,
          querystring: contract.inputItemsQuery,
          response: { 200: contract.inputItemPage, ...errorResponses },
        },
      },
      async (request) => {
        const { space_id: spaceId, response_id: responseId } = request.params;
        const { limit, cursor } = request.query;
        const page = await request.inContext(spaceId, (ctx) =>
          listInputItems(ctx, { responseId, limit, cursor: cursor ?? null }),
        );
        return toPage(page);
      },
    );

    app.get(
      '/spaces/:space_id/responses/:response_id/events',
      {
        config: { permission: 'responses.read', own, audit: reads },
        schema: {
          tags,
          operationId: 'listResponseEvents',
          summary: 'Read a page of a response’s stream events as JSON',
          params: contract.responseParams,
          querystring: contract.eventsQuery,
          response: { 200: contract.eventPage, ...errorResponses },
        },
      },
      (request) => handleEvents(deps, request, request.query),
    );
  };
}
