import type { Context } from '#domain/access/context.ts';
import type { Page } from '#domain/kernel/page.ts';
import { keysetPage } from '#domain/persistence/keyset-list.ts';
import { doneItems, toHead, usageOf } from './head.ts';
import { toResponseRecord, type ResponseRecord } from './response-record.ts';
import { Response } from './response.entity.ts';
import type { ResponseStatus } from './response-status.ts';

export interface ListResponses {
  spaceId: string;
  status: ResponseStatus | null;
  limit: number;
  cursor: string | null;
}

/** Newest first: the caller's own, and everybody's with `responses.read`. */
export async function listResponses(ctx: Context, input: ListResponses): Promise<Page<ResponseRecord>> {
  const mine = ctx.caller.granted.has('responses.read') ? {} : { principalId: ctx.caller.principalId };
  const page = await keysetPage(ctx, {
    entity: Response,
    where: { spaceId: input.spaceId, ...mine, ...(input.status === null ? {} : { status: input.status }) },
    limit: input.limit,
    cursor: input.cursor,
    operation: 'responses.list',
    filters: { spaceId: input.spaceId, status: input.status, ...mine },
  });
  const items: ResponseRecord[] = [];
  for (const response of page.items) {
    items.push(
      toResponseRecord(
        toHead(response),
        await doneItems(ctx.em, response.id),
        await usageOf(ctx.em, response),
      ),
    );
  }
  return { items, nextCursor: page.nextCursor };
}
