import type { Context } from '#domain/foundation/access/context.ts';
import { cleanText } from '#domain/foundation/kernel/clean-text.ts';
import { DomainError, unsupported } from '#domain/foundation/kernel/errors.ts';
import type { CreateResponseInput, InputItem } from '#domain/responses/record/create-input.ts';
import { Response } from '#domain/responses/record/response.entity.ts';
import { resolveBusyThread, type Before } from './resolve-busy-thread.ts';
import { appendMessages, type NewMessage } from '#domain/conversations/messages/append-messages.ts';
import { holdBranch, lockQueue, type BranchOf } from '#domain/conversations/threads/branch-queue.ts';
import { findThreadToWrite, requireActive } from '#domain/conversations/threads/find-thread.ts';
import { requireSender } from '#domain/conversations/threads/sender-role.ts';
import { requireBranch } from '#domain/conversations/threads/thread-branches.ts';
import type { MessageRole } from '#domain/conversations/threads/thread-status.ts';

/**
 * Adds a response to its thread, if it has one, as the only running response of its branch.
 * @throws `missing_permission`, `thread_not_found`, `branch_not_found`, `thread_archived`; as `resolveBusyThread`
 * does
 */
export async function enterThread(
  ctx: Context,
  input: CreateResponseInput,
  response: Response,
): Promise<Before> {
  if (input.thread == null) {
    return resolveBusyThread(ctx, input, []);
  }
  const { threadId } = input.thread;
  const found = await findThreadToWrite(ctx, threadId);
  if (input.store === false) {
    throw unsupported(
      'platform.thread_id',
      'A response whose content is not to be kept cannot join a thread.',
    );
  }
  for (const item of input.input) {
    if (item.type === 'message') {
      requireSender(found.there.caller, roleOf(item), 'input');
    }
  }
  requireActive(found);
  const branchId = await requireBranch(ctx.em, found.thread, input.thread.branchId);
  const branch = { threadId: found.thread.id, branchId };
  await holdBranch(ctx, branch);
  const before = await resolveBusyThread(ctx, input, await lockQueue(ctx.em, branch));
  requireActive(await findThreadToWrite(ctx, threadId, { lock: true }));
  response.threadId = threadId;
  response.branchId = branchId;
  return before;
}

/**
 * Checks and locks the thread in which a failed response is restarted.
 * @throws `missing_permission`, `thread_not_found`, `thread_archived`, `previous_response_in_progress`
 */
export async function returnToThread(ctx: Context, branch: BranchOf): Promise<void> {
  await holdBranch(ctx, branch);
  requireActive(await findThreadToWrite(ctx, branch.threadId, { lock: true }));
  if ((await ctx.em.count(Response, { ...branch, finishedAt: null })) > 0) {
    throw new DomainError('previous_response_in_progress', 'A response of this thread has not ended yet.', {
      param: 'platform.thread_id',
    });
  }
}

/** Saves the input messages in the thread, in the transaction that accepts the response. */
export async function saveQuestion(
  ctx: Context,
  response: Response,
  input: readonly InputItem[],
): Promise<void> {
  if (response.threadId == null || response.branchId == null) {
    return;
  }
  const messages = input.flatMap((item, index): NewMessage[] =>
    item.type === 'message'
      ? [
          {
            role: roleOf(item),
            content: contentOf(item),
            status: 'completed',
            metadata: {},
            responsePosition: index,
          },
        ]
      : [],
  );
  await appendMessages(
    ctx.em,
    {
      tenantId: response.tenantId,
      threadId: response.threadId,
      branchId: response.branchId,
      createdBy: response.principalId,
      responseId: response.id,
    },
    messages,
  );
}

type MessageItem = Extract<InputItem, { type: 'message' }>;

function roleOf({ role }: MessageItem): MessageRole {
  return role === 'developer' ? 'system' : role;
}

/** A thread stores text only: placeholders stand for images and files. */
function contentOf({ text, content }: MessageItem): string {
  const said = content?.map((part) => {
    switch (part.type) {
      case 'input_image':
        return '[image]';
      case 'input_file':
        return `[file: ${part.filename}]`;
      case 'input_text':
      case 'output_text':
        return part.text;
    }
  });
  return cleanText(said?.join('\n') ?? text);
}
