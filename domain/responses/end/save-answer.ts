import type { EntityManager } from '@mikro-orm/postgresql';
import type { OutputItem } from '#domain/responses/record/output-items.ts';
import type { Response } from '#domain/responses/record/response.entity.ts';
import { appendMessages, type NewMessage } from '#domain/conversations/messages/append-messages.ts';

/** After all possible positions of an input: a request has at most 512 items. */
const firstAnswerPosition = 1_000;

/**
 * Saves the output of a response as messages of its thread, in the transaction of its end, so that each is saved
 * exactly once despite crashes and retries. Does nothing without a thread.
 */
export async function saveAnswer(
  em: EntityManager,
  response: Response,
  output: readonly OutputItem[],
): Promise<void> {
  const { tenantId, threadId, branchId, principalId } = response;
  if (threadId == null || branchId == null) {
    return;
  }
  const status = response.status === 'completed' ? 'completed' : 'failed';
  const messages = output.flatMap((item, index): NewMessage[] => {
    const content = item.type === 'message' ? item.content.map((part) => part.text).join('') : '';
    const metadata = item.type === 'message' && item.phase === 'commentary' ? { phase: item.phase } : {};
    const responsePosition = firstAnswerPosition + index;
    return content === '' ? [] : [{ role: 'assistant', content, status, metadata, responsePosition }];
  });
  if (messages.length > 0) {
    const to = { tenantId, threadId, branchId, createdBy: principalId, responseId: response.id };
    await appendMessages(em, to, messages);
  }
}
