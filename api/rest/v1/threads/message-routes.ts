import '#api/plugins/route-config.ts';
import type { FastifyInstance } from 'fastify';
import type { ZodTypeProvider } from '@fastify/type-provider-zod';
import { contentBodyLimit } from '#api/body-limits.ts';
import type { GatewayDependencies } from '#api/compose.ts';
import { errorResponses, spaceParams } from '#api/contract/common.ts';
import * as contract from '#api/contract/threads.ts';
import { withFoundNames } from '#api/found-names.ts';
import { presentMessage } from '#api/present/threads.ts';
import { toPage } from '#api/present/page.ts';
import { addMessage } from '#domain/conversations/messages/add-message.ts';
import { listMessages } from '#domain/conversations/messages/list-messages.ts';
import { startThread } from '#domain/conversations/messages/start-thread.ts';
import { idempotencyOf } from '../idempotency.ts';
import { screens, toNewMessage, toNewThread } from './messages.ts';

const tags = ['Threads'];

export function messageRoutes(deps: GatewayDependencies) {
  return async (instance: FastifyInstance): Promise<void> => {
    const app = instance.withTypeProvider<ZodTypeProvider>();

    app.post(
      '/spaces/:space_id/threads/messages',
      {
        bodyLimit: contentBodyLimit,
        config: { permission: 'messages.create', audit: ['space.thread_created', ...screens] },
        schema: {
          tags,
          operationId: 'startThread',
          summary: 'Begin a thread with its first message',
          description: 'Needs `threads.create` too. `branch_id` names the thread’s first branch.',
          params: spaceParams,
          headers: contract.threadHeaders,
          body: contract.startThreadBody,
          response: { 201: contract.messageEnvelope, ...errorResponses },
        },
      },
      async (request, reply) => {
        const { params, headers, body } = request;
        const path = `/v1/spaces/${params.space_id}/threads/messages`;
        const input = {
          ...toNewThread(body),
          idempotency: idempotencyOf(headers['idempotency-key'], path, body),
        };
        const sent = await withFoundNames(deps, request, params.space_id, (ctx, names) =>
          startThread(ctx, input, names),
        );
        if (sent.replayed) {
          reply.header('Idempotent-Replayed', 'true');
        }
        reply.status(201);
        return { data: presentMessage(sent) };
      },
    );

    app.post(
      '/spaces/:space_id/threads/:thread_id/messages',
      {
        bodyLimit: contentBodyLimit,
        config: { permission: 'messages.create', audit: screens },
        schema: {
          tags,
          operationId: 'addMessage',
          summary: 'Add a message to a thread',
          description:
            'Appends to the branch, by default to the first branch. No model answers the message: ' +
            'for that, create a response with `platform.thread_id`.',
          params: contract.threadParams,
          headers: contract.threadHeaders,
          body: contract.addMessageBody,
          response: { 201: contract.messageEnvelope, ...errorResponses },
        },
      },
      async (request, reply) => {
        const { params, headers, body } = request;
        const path = `/v1/spaces/${params.space_id}/threads/${params.thread_id}/messages`;
        const input = {
          threadId: params.thread_id,
          ...toNewMessage(body),
          idempotency: idempotencyOf(headers['idempotency-key'], path, body),
        };
        const sent = await withFoundNames(deps, request, params.space_id, (ctx, names) =>
          addMessage(ctx, input, names),
        );
        if (sent.replayed) {
          reply.header('Idempotent-Replayed', 'true');
        }
        reply.status(201);
        return { data: presentMessage(sent) };
      },
    );

    app.get(
      '/spaces/:space_id/threads/:thread_id/messages',
      {
        config: {
          permission: 'messages.read',
          own: 'the caller’s own threads',
          audit: { none: 'reads' },
        },
        schema: {
          tags,
          operationId: 'listMessages',
          summary: 'List the messages of a thread, oldest first',
          description: 'With `branch_id` the messages that lead to the end of that branch.',
          params: contract.threadParams,
          querystring: contract.listMessagesQuery,
          response: { 200: contract.messagePage, ...errorResponses },
        },
      },
      async (request) => {
        const { space_id: spaceId, thread_id: threadId } = request.params;
        const { limit, cursor, branch_id: branchId } = request.query;
        const page = await request.inContext(spaceId, (ctx) =>
          listMessages(ctx, { threadId, branchId: branchId ?? null, limit, cursor: cursor ?? null }),
        );
        return toPage({ ...page, items: page.items.map(presentMessage) });
      },
    );
  };
}
