import { reachesOwn } from '#domain/foundation/access/authorize-own.ts';
import type { Context } from '#domain/foundation/access/context.ts';
import { authorize } from '#domain/foundation/access/policy.ts';
import type { Redaction } from '#domain/governance/policy/pii-settings.ts';
import { showAllRestored } from '#domain/conversations/threads/show-restored.ts';
import type { Page } from '#domain/foundation/kernel/page.ts';
import { keysetPage } from '#domain/foundation/persistence/keyset-list.ts';
import { toHead } from '#domain/responses/store/head.ts';
import type { OutputItem } from '#domain/responses/record/output-items.ts';
import { unexpired } from '#domain/responses/store/response-access.ts';
import {
  noUsage,
  toResponseRecord,
  type ResponseRecord,
  type UsageSum,
} from '#domain/responses/record/response-record.ts';
import { Response } from '#domain/responses/record/response.entity.ts';
import type { ResponseStatus } from '#domain/responses/record/response-status.ts';

export interface ListResponses {
  spaceId: string;
  status: ResponseStatus | null;
  limit: number;
  cursor: string | null;
}

/**
 * Newest first: the caller's own, with `responses.read` those of all principals. The output holds finished items
 * only.
 */
export async function listResponses(ctx: Context, input: ListResponses): Promise<Page<ResponseRecord>> {
  if (!reachesOwn(ctx.caller, 'responses.read', 'responses.create')) {
    authorize(ctx.caller, 'responses.read');
  }
  const mine = ctx.caller.granted.has('responses.read') ? {} : { principalId: ctx.caller.principalId };
  const page = await keysetPage(ctx, {
    entity: Response,
    where: {
      spaceId: input.spaceId,
      ...mine,
      ...unexpired(),
      ...(input.status === null ? {} : { status: input.status }),
    },
    limit: input.limit,
    cursor: input.cursor,
    operation: 'responses.list',
    filters: { spaceId: input.spaceId, status: input.status, ...mine },
    // Tools and instructions of a hundred requests are hundreds of megabytes, and the list does not show them.
    exclude: ['request'],
    bytes: `select response_id as id, sum(octet_length(wire))::float8 as bytes from items
      where response_id in (select jsonb_array_elements_text(?::jsonb))
        and output_index is not null and superseded_by is null
      group by response_id`,
  });
  const redactions = await redactionsOf(ctx, page.items);
  const parts = await partsOf(
    ctx,
    page.items.map((response) => response.id),
  );
  const records = page.items.map((response) => {
    const part = parts.get(response.id);
    const output = (part?.items ?? []).map((wire) => JSON.parse(wire) as OutputItem);
    const { id, threadId } = response;
    const shown = { threadId, request: { redaction: redactions.get(id) } };
    return { response: shown, value: toResponseRecord(toHead(response), output, part?.usage ?? noUsage) };
  });
  return { items: await showAllRestored(ctx, records), nextCursor: page.nextCursor };
}

/** Only responses whose space requires redaction have one. */
async function redactionsOf(
  ctx: Context,
  responses: readonly Response[],
): Promise<ReadonlyMap<string, Redaction>> {
  const screened = responses.filter(({ governance }) => governance.pii !== undefined).map(({ id }) => id);
  const rows =
    screened.length === 0
      ? []
      : await ctx.em.execute<{ id: string; redaction: Redaction | null }[]>(
          `select id, request -> 'redaction' as redaction from responses
             where id in (select jsonb_array_elements_text(?::jsonb))`,
          [JSON.stringify(screened)],
        );
  return new Map(rows.flatMap(({ id, redaction }) => (redaction === null ? [] : [[id, redaction] as const])));
}

interface Parts {
  id: string;
  items: string[] | null;
  usage: UsageSum;
}

/** Output and usage of a whole page in one query. */
async function partsOf(ctx: Context, ids: string[]): Promise<Map<string, Parts>> {
  const rows = await ctx.em.execute<Parts[]>(
    `select wanted.id, app.sum_usage(?, wanted.id) as usage,
       (select jsonb_agg(i.wire order by i.output_index) from items i
         where i.tenant_id = ? and i.response_id = wanted.id
           and i.output_index is not null and i.superseded_by is null) as items
     from jsonb_array_elements_text(?::jsonb) as wanted (id)`,
    [ctx.caller.tenantId, ctx.caller.tenantId, JSON.stringify(ids)],
  );
  return new Map(rows.map((row) => [row.id, row]));
}
