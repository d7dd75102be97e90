import { deleted } from '#api/contract/common.ts';
import * as inputs from '#api/contract/procedures.ts';
import { messageEnvelope, messagePage, threadEnvelope, threadPage } from '#api/contract/threads.ts';
import { withFoundNames } from '#api/found-names.ts';
import { toPage } from '#api/present/page.ts';
import { presentMessage, presentThread } from '#api/present/threads.ts';
import { addMessage } from '#domain/conversations/messages/add-message.ts';
import { deleteThread } from '#domain/conversations/threads/delete-thread.ts';
import { listMessages } from '#domain/conversations/messages/list-messages.ts';
import { listThreads, readThread } from '#domain/conversations/threads/read-threads.ts';
import { startThread } from '#domain/conversations/messages/start-thread.ts';
import { updateThread } from '#domain/conversations/threads/update-thread.ts';
import { screens, toNewMessage, toNewThread } from '../rest/v1/threads/messages.ts';
import { procedure, reads, router } from './trpc.ts';

const own = 'the caller’s own threads';

export const threads = router({
  list: procedure({ permission: 'threads.read', own, audit: reads })
    .input(inputs.listThreadsInput)
    .output(threadPage)
    .query(async ({ ctx: { request }, input }) => {
      const { space_id: spaceId, limit, cursor, status, project_id: projectId } = input;
      const page = await request.inContext(spaceId, (ctx) =>
        listThreads(ctx, {
          limit,
          cursor: cursor ?? null,
          status: status ?? null,
          projectId: projectId ?? null,
        }),
      );
      return toPage({ ...page, items: page.items.map(presentThread) });
    }),

  get: procedure({ permission: 'threads.read', own, audit: reads })
    .input(inputs.threadInput)
    .output(threadEnvelope)
    .query(async ({ ctx: { request }, input: { space_id: spaceId, thread_id: threadId } }) => ({
      data: presentThread(await request.inContext(spaceId, (ctx) => readThread(ctx, { threadId }))),
    })),

  messages: procedure({ permission: 'messages.read', own, audit: reads })
    .input(inputs.listMessagesInput)
    .output(messagePage)
    .query(async ({ ctx: { request }, input }) => {
      const { space_id: spaceId, thread_id: threadId, branch_id: branchId, limit, cursor } = input;
      const page = await request.inContext(spaceId, (ctx) =>
        listMessages(ctx, { threadId, branchId: branchId ?? null, limit, cursor: cursor ?? null }),
      );
      return toPage({ ...page, items: page.items.map(presentMessage) });
    }),

  start: procedure({ permission: 'messages.create', audit: ['space.thread_created', ...screens] })
    .input(inputs.startThreadInput)
    .output(messageEnvelope)
    .mutation(async ({ ctx: { deps, request }, input }) => {
      const thread = { ...toNewThread(input), idempotency: null };
      const sent = await withFoundNames(deps, request, input.space_id, (ctx, names) =>
        startThread(ctx, thread, names),
      );
      return { data: presentMessage(sent) };
    }),

  addMessage: procedure({ permission: 'messages.create', audit: screens })
    .input(inputs.addMessageInput)
    .output(messageEnvelope)
    .mutation(async ({ ctx: { deps, request }, input }) => {
      const message = { ...toNewMessage(input), threadId: input.thread_id, idempotency: null };
      const sent = await withFoundNames(deps, request, input.space_id, (ctx, names) =>
        addMessage(ctx, message, names),
      );
      return { data: presentMessage(sent) };
    }),

  update: procedure({ permission: 'threads.update', own, audit: ['space.thread_archived'] })
    .input(inputs.updateThreadInput)
    .output(threadEnvelope)
    .mutation(async ({ ctx: { request }, input: { space_id: spaceId, thread_id: threadId, ...change } }) => ({
      data: presentThread(
        await request.inContext(spaceId, (ctx) => updateThread(ctx, { ...change, threadId })),
      ),
    })),

  delete: procedure({ permission: 'threads.delete', own, audit: ['space.thread_deleted'] })
    .input(inputs.threadInput)
    .output(deleted)
    .mutation(async ({ ctx: { request }, input: { space_id: spaceId, thread_id: threadId } }) => {
      await request.inContext(spaceId, (ctx) => deleteThread(ctx, { threadId }));
      return { data: { id: threadId, deleted: true as const } };
    }),
});
