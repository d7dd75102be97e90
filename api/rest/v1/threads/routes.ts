import '#api/plugins/route-config.ts';
import type { FastifyInstance } from 'fastify';
import type { ZodTypeProvider } from '@fastify/type-provider-zod';
import { deleted, errorResponses, spaceParams } from '#api/contract/common.ts';
import * as contract from '#api/contract/threads.ts';
import { presentThread } from '#api/present/threads.ts';
import { toPage } from '#api/present/page.ts';
import { deleteThread } from '#domain/conversations/threads/delete-thread.ts';
import { listThreads, readThread } from '#domain/conversations/threads/read-threads.ts';
import { updateThread } from '#domain/conversations/threads/update-thread.ts';

const tags = ['Threads'];
const reads = { none: 'reads' };
const own = 'the caller’s own threads';
const one = '/spaces/:space_id/threads/:thread_id';

export async function threadRoutes(instance: FastifyInstance): Promise<void> {
  const app = instance.withTypeProvider<ZodTypeProvider>();

  app.get(
    '/spaces/:space_id/threads',
    {
      config: { permission: 'threads.read', own, audit: reads },
      schema: {
        tags,
        operationId: 'listThreads',
        summary: 'List the threads of a space, newest first',
        params: spaceParams,
        querystring: contract.listThreadsQuery,
        response: { 200: contract.threadPage, ...errorResponses },
      },
    },
    async (request) => {
      const { limit, cursor, status, project_id: projectId } = request.query;
      const page = await request.inContext(request.params.space_id, (ctx) =>
        listThreads(ctx, {
          limit,
          cursor: cursor ?? null,
          status: status ?? null,
          projectId: projectId ?? null,
        }),
      );
      return toPage({ ...page, items: page.items.map(presentThread) });
    },
  );

  app.get(
    one,
    {
      config: { permission: 'threads.read', own, audit: reads },
      schema: {
        tags,
        operationId: 'getThread',
        summary: 'Read a thread',
        params: contract.threadParams,
        response: { 200: contract.threadEnvelope, ...errorResponses },
      },
    },
    async (request) => {
      const { space_id: spaceId, thread_id: threadId } = request.params;
      return {
        data: presentThread(await request.inContext(spaceId, (ctx) => readThread(ctx, { threadId }))),
      };
    },
  );

  app.patch(
    one,
    {
      config: { permission: 'threads.update', own, audit: ['space.thread_archived'] },
      schema: {
        tags,
        operationId: 'updateThread',
        summary: 'Rename, archive or unarchive a thread',
        params: contract.threadParams,
        body: contract.updateThreadBody,
        response: { 200: contract.threadEnvelope, ...errorResponses },
      },
    },
    async (request) => {
      const { space_id: spaceId, thread_id: threadId } = request.params;
      const updated = await request.inContext(spaceId, (ctx) =>
        updateThread(ctx, { ...request.body, threadId }),
      );
      return { data: presentThread(updated) };
    },
  );

  app.delete(
    one,
    {
      config: { permission: 'threads.delete', own, audit: ['space.thread_deleted'] },
      schema: {
        tags,
        operationId: 'deleteThread',
        summary: 'Delete a thread with its messages',
        params: contract.threadParams,
        response: { 200: deleted, ...errorResponses },
      },
    },
    async (request) => {
      const { space_id: spaceId, thread_id: threadId } = request.params;
      await request.inContext(spaceId, (ctx) => deleteThread(ctx, { threadId }));
      return { data: { id: threadId, deleted: true as const } };
    },
  );
}
