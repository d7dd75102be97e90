import { governanceEnvelope } from '#api/contract/governance.ts';
import * as inputs from '#api/contract/procedures.ts';
import { messagePage, threadEnvelope, threadPage } from '#api/contract/threads.ts';
import { toPage } from '#api/present/page.ts';
import { presentGovernance, presentMessage, presentThread } from '#api/present/threads.ts';
import { readGovernance, updateGovernance } from '#domain/governance/read-governance.ts';
import { listMessages } from '#domain/threads/list-messages.ts';
import { listThreads, readThread } from '#domain/threads/read-threads.ts';
import { procedure, reads, router } from './trpc.ts';

const own = 'the caller’s own threads';

export const threads = router({
  list: procedure({ permission: 'threads.read', own, audit: reads })
    .input(inputs.listThreadsInput)
    .output(threadPage)
    .query(async ({ ctx: { request }, input: { space_id: spaceId, limit, cursor, status } }) => {
      const page = await request.inContext(spaceId, (ctx) =>
        listThreads(ctx, { limit, cursor: cursor ?? null, status: status ?? null, projectId: null }),
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
});

export const governance = router({
  get: procedure({ permission: 'governance.read', audit: reads })
    .input(inputs.spaceInput)
    .output(governanceEnvelope)
    .query(async ({ ctx: { request }, input: { space_id: spaceId } }) => ({
      data: presentGovernance(await request.inContext(spaceId, readGovernance)),
    })),

  update: procedure({ permission: 'governance.update', audit: ['space.governance_updated'] })
    .input(inputs.updateGovernanceInput)
    .output(governanceEnvelope)
    .mutation(async ({ ctx: { request }, input: { space_id: spaceId, pii } }) => ({
      data: presentGovernance(await request.inContext(spaceId, (ctx) => updateGovernance(ctx, pii))),
    })),
});
