import { LockMode } from '@mikro-orm/core';
import type { EntityManager } from '@mikro-orm/postgresql';
import { databaseNow } from '#domain/foundation/persistence/database-now.ts';
import { Item } from '#domain/responses/record/item.entity.ts';
import type { OutputItem } from '#domain/responses/record/output-items.ts';
import {
  toResponseRecord,
  type ResponseHead,
  type ResponseRecord,
  type UsageSum,
} from '#domain/responses/record/response-record.ts';
import { Response } from '#domain/responses/record/response.entity.ts';

/** The head row, locked for this transaction, and the database's time. Null: unknown, expired or deleted. */
export async function lockHead(
  em: EntityManager,
  responseId: string,
): Promise<{ response: Response; now: Date } | null> {
  const locked = { lockMode: LockMode.PESSIMISTIC_WRITE, refresh: true } as const;
  const response = await em.findOne(Response, { id: responseId }, locked);
  if (response === null) {
    return null;
  }
  return { response, now: await databaseNow(em) };
}

/** The finished items in order, without superseded ones. */
export function doneItems(em: EntityManager, responseId: string): Promise<Item[]> {
  return em.find(
    Item,
    { responseId, outputIndex: { $ne: null }, supersededBy: null },
    { orderBy: { outputIndex: 'asc' } },
  );
}

/** The ledger's sum of settled rows. */
export async function usageOf(em: EntityManager, response: Response): Promise<UsageSum> {
  const [row] = await em.execute<{ usage: UsageSum }[]>('select app.sum_usage(?, ?) as usage', [
    response.tenantId,
    response.id,
  ]);
  if (row === undefined) {
    throw new Error('The usage ledger did not answer.');
  }
  return row.usage;
}

/** The response as it is in this transaction. Flushes, so that it includes pending writes. */
export async function currentRecord(em: EntityManager, response: Response): Promise<ResponseRecord> {
  await em.flush();
  const output = (await doneItems(em, response.id)).map(({ wire }) => JSON.parse(wire) as OutputItem);
  return toResponseRecord(toHead(response), output, await usageOf(em, response));
}

export function toHead(response: Response): ResponseHead {
  return {
    id: response.id,
    status: response.status,
    created_at: response.createdAt.toISOString(),
    finished_at: response.finishedAt?.toISOString() ?? null,
    expires_at: response.expiresAt.toISOString(),
    space_id: response.spaceId,
    model: response.model,
    model_alias: response.modelAlias,
    previous_response_id: response.previousResponseId ?? null,
    governance: response.governance,
    iteration_count: response.iterationCount,
    failure: response.failure ?? null,
    incomplete_reason: response.incompleteReason ?? null,
    attempts: response.attempts,
    tool_call_count: response.toolCallCount,
    cancelled_by: response.cancelledBy ?? null,
    metadata: response.metadata ?? null,
    thread_id: response.threadId ?? null,
    branch_id: response.branchId ?? null,
  };
}
