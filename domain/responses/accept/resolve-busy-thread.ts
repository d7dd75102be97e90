import type { EntityManager } from '@mikro-orm/postgresql';
import type { Context } from '#domain/foundation/access/context.ts';
import { DomainError, notFound } from '#domain/foundation/kernel/errors.ts';
import { databaseNow } from '#domain/foundation/persistence/database-now.ts';
import { cancelRunning } from '#domain/responses/end/cancel-response.ts';
import type { CreateResponseInput } from '#domain/responses/record/create-input.ts';
import { lockHead } from '#domain/responses/store/head.ts';
import { authorizeResponse, unexpired } from '#domain/responses/store/response-access.ts';
import { Response } from '#domain/responses/record/response.entity.ts';

/** The responses that a new response follows. */
export interface Before {
  /** The response whose conversation it continues; null: it continues the messages of its branch. */
  parent: Response | null;
  /** The response whose end lets it start. */
  blockedBy: Response | null;
}

/**
 * Decides about responses that still run before a new one: they refuse it, block it, or are cancelled.
 * @param queue the unfinished responses of its branch, locked, each behind its blocker; empty without a thread
 * @throws `previous_response_not_found`, `previous_response_in_progress`, `missing_permission`; `invalid_state` if it
 *   would continue a response that never started
 */
export async function resolveBusyThread(
  ctx: Context,
  input: CreateResponseInput,
  queue: readonly string[],
): Promise<Before> {
  const inBranch = await readRunning(ctx, queue);
  const named = await readNamed(ctx, input, queue);
  const runs = named !== null && !named.isTerminal;
  if (named?.hasWholeContext === false && (named.isTerminal || input.onBusy === 'cancel_previous')) {
    throw neverBegan();
  }
  const running = runs && queue.length === 0 ? [named] : inBranch;
  const last = running.at(-1);
  if (last === undefined) {
    return { parent: named, blockedBy: null };
  }
  switch (input.onBusy) {
    case 'reject':
      throw inProgress(runs ? 'previous_response_id' : 'platform.thread_id');
    case 'enqueue':
      if (runs && named !== last) {
        throw inProgress('previous_response_id');
      }
      return { parent: named, blockedBy: last };
    case 'cancel_previous':
      await cancelAll(ctx, running);
      return { parent: named, blockedBy: null };
  }
}

async function readRunning({ em }: Context, queue: readonly string[]): Promise<Response[]> {
  const running =
    queue.length === 0
      ? []
      : await em.find(Response, { id: [...queue], finishedAt: null }, { refresh: true });
  return running.toSorted((a, b) => queue.indexOf(a.id) - queue.indexOf(b.id));
}

/**
 * The response that it continues: readable by the caller, and ended unless it may block the new one or be cancelled.
 */
async function readNamed(
  ctx: Context,
  input: CreateResponseInput,
  queue: readonly string[],
): Promise<Response | null> {
  const { previousResponseId: id, spaceId, thread, onBusy } = input;
  if (id === null) {
    return null;
  }
  // A transaction that holds rows of a queue waits for no other running response: two could deadlock.
  const named =
    queue.length > 0
      ? await ctx.em.findOne(Response, { id, ...unexpired() })
      : await lockUnexpired(ctx.em, id);
  if (named === null || named.spaceId !== spaceId) {
    throw notFound('previous_response_not_found', 'previous_response_id');
  }
  authorizeResponse(ctx.caller, 'responses.read', named.principalId);
  const beside = queue.length > 0 && !queue.includes(id);
  // Its end writes into its thread, and no transaction locks two threads.
  const isOther = thread != null && named.threadId != null && named.threadId !== thread.threadId;
  if (!named.isTerminal && (beside || (isOther && onBusy === 'cancel_previous'))) {
    throw inProgress('previous_response_id');
  }
  if (beside) {
    await lockUnpurged(ctx, id);
  }
  return named;
}

/** Prevents the purge of an ended response before its conversation is copied. */
async function lockUnpurged({ em }: Context, id: string): Promise<void> {
  const kept = await em.execute(
    'select id from responses where id = ? and expires_at > now() for key share',
    [id],
  );
  if (kept.length === 0) {
    throw notFound('previous_response_not_found', 'previous_response_id');
  }
}

async function lockUnexpired(em: EntityManager, id: string): Promise<Response | null> {
  const head = await lockHead(em, id);
  return head !== null && head.response.expiresAt > head.now ? head.response : null;
}

/** Cancels the last one first, so that no end starts a response behind it. */
async function cancelAll(ctx: Context, running: readonly Response[]): Promise<void> {
  const now = await databaseNow(ctx.em);
  for (const { principalId } of running) {
    authorizeResponse(ctx.caller, 'responses.cancel', principalId);
  }
  for (const response of running.toReversed()) {
    await cancelRunning(ctx, response, now);
  }
  await ctx.em.flush();
}

/** A response that ended while it was blocked never received its conversation. */
function neverBegan(): DomainError {
  return new DomainError(
    'invalid_state',
    'The previous response never began, so there is nothing to go on from.',
    { param: 'previous_response_id' },
  );
}

function inProgress(param: 'previous_response_id' | 'platform.thread_id'): DomainError {
  const message =
    param === 'platform.thread_id'
      ? 'A response of this thread has not ended yet.'
      : 'The previous response has not ended yet.';
  return new DomainError('previous_response_in_progress', message, { param });
}
