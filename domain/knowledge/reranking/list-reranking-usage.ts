import type { Context } from '#domain/foundation/access/context.ts';
import { authorize } from '#domain/foundation/access/policy.ts';
import { spaceOf } from '#domain/foundation/access/space-of.ts';
import { decodeCursor, encodeCursor, type Page } from '#domain/foundation/kernel/page.ts';

/** What was judged in a space on one day by one model. */
export interface RerankingUsage {
  /** At UTC, such as `2026-11-24`. */
  day: string;
  modelId: string;
  alias: string;
  /** As the vendor bills them. */
  searches: number;
  passages: number;
  tokens: number;
  /** At the prices of the day; null: the model has no price. */
  costPicoUsd: bigint | null;
}

export interface ListRerankingUsage {
  /** Days up to today, at least 1. */
  days: number;
  limit: number;
  cursor: string | null;
}

interface UsageRow {
  day: string;
  model_id: string;
  alias: string;
  searches: number;
  passages: number;
  tokens: number;
  cost: string;
  is_priced: boolean;
}

/** Reranking usage of the caller's space by day and model, newest day first. @throws `missing_permission`, `invalid_cursor` */
export async function listRerankingUsage(
  ctx: Context,
  { days, limit, cursor }: ListRerankingUsage,
): Promise<Page<RerankingUsage>> {
  authorize(ctx.caller, 'usage.read');
  const spaceId = spaceOf(ctx.caller);
  const { tenantId } = ctx.caller;
  const scope = { tenantId, operation: 'reranking_usage', filters: { spaceId, days } };
  const after = cursor === null ? null : decodeCursor(ctx.secrets, scope, cursor);
  const rows = await ctx.em.execute<UsageRow[]>(
    `select u.day::text as day, u.model_id, m.alias, u.searches, u.passages, u.tokens, u.cost,
            u.cost <> '0' or m.micro_usd_per_million > 0 or m.micro_usd_per_thousand_searches > 0 as is_priced
     from (
       select (created_at at time zone 'utc')::date as day, model_id, sum(searches)::float8 as searches,
              sum(passages)::float8 as passages, sum(input_tokens)::float8 as tokens, sum(cost_pico_usd)::text as cost
       from reranking_usage
       where tenant_id = ? and space_id = ?
         and created_at >= ((now() at time zone 'utc')::date - ?::integer + 1)::timestamp at time zone 'utc'
         and created_at < coalesce((?::date + 1)::timestamp at time zone 'utc', 'infinity')
       group by 1, 2) u
     join reranking_models m on m.tenant_id = ? and m.id = u.model_id
     where ?::date is null or (u.day, u.model_id) < (?::date, ?::uuid)
     order by u.day desc, u.model_id desc limit ?`,
    [
      tenantId,
      spaceId,
      days,
      after?.createdAt ?? null,
      tenantId,
      after?.createdAt ?? null,
      after?.createdAt ?? null,
      after?.id ?? null,
      limit + 1,
    ],
  );
  const items = rows.slice(0, limit).map(toUsage);
  const last = items.at(-1);
  return {
    items,
    nextCursor:
      last === undefined || rows.length === items.length
        ? null
        : encodeCursor(ctx.secrets, scope, { createdAt: last.day, id: last.modelId }),
  };
}

const toUsage = ({ model_id: modelId, cost, is_priced: isPriced, ...row }: UsageRow): RerankingUsage => ({
  ...row,
  modelId,
  costPicoUsd: isPriced ? BigInt(cost) : null,
});
