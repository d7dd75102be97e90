import type { Context } from '#domain/foundation/access/context.ts';
import { authorize } from '#domain/foundation/access/policy.ts';
import { spaceOf } from '#domain/foundation/access/space-of.ts';
import { decodeCursor, encodeCursor, type Page } from '#domain/foundation/kernel/page.ts';

/** What was embedded in a space on one day by one model. */
export interface EmbeddingUsage {
  /** At UTC, such as `2026-11-24`. */
  day: string;
  modelId: string;
  alias: string;
  texts: number;
  tokens: number;
  /** At the prices of the day; null: the model has no price. */
  costPicoUsd: bigint | null;
}

export interface ListEmbeddingUsage {
  /** Days up to today, at least 1. */
  days: number;
  limit: number;
  cursor: string | null;
}

interface UsageRow {
  day: string;
  model_id: string;
  alias: string;
  texts: number;
  tokens: number;
  cost: string;
  is_priced: boolean;
}

/**
 * Embedding usage of the caller's space by day and model, newest day first. Questions that the builtin model embeds are
 * not counted.
 * @throws `missing_permission`, `invalid_cursor`
 */
export async function listEmbeddingUsage(
  ctx: Context,
  { days, limit, cursor }: ListEmbeddingUsage,
): Promise<Page<EmbeddingUsage>> {
  authorize(ctx.caller, 'usage.read');
  const spaceId = spaceOf(ctx.caller);
  const { tenantId } = ctx.caller;
  const scope = { tenantId, operation: 'embedding_usage', filters: { spaceId, days } };
  const after = cursor === null ? null : decodeCursor(ctx.secrets, scope, cursor);
  const rows = await ctx.em.execute<UsageRow[]>(
    `select u.day::text as day, u.model_id, m.alias, u.texts, u.tokens, u.cost,
            u.cost <> '0' or m.micro_usd_per_million > 0 as is_priced
     from (
       select (created_at at time zone 'utc')::date as day, model_id,
              sum(coalesce(texts, case when purpose = 'query' then 1 else 0 end))::float8 as texts,
              sum(input_tokens)::float8 as tokens, sum(cost_pico_usd)::text as cost
       from embedding_usage
       where tenant_id = ? and space_id = ?
         and created_at >= ((now() at time zone 'utc')::date - ?::integer + 1)::timestamp at time zone 'utc'
         and created_at < coalesce((?::date + 1)::timestamp at time zone 'utc', 'infinity')
       group by 1, 2) u
     join embedding_models m on m.tenant_id = ? and m.id = u.model_id
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

const toUsage = ({
  day,
  model_id: modelId,
  alias,
  texts,
  tokens,
  cost,
  ...row
}: UsageRow): EmbeddingUsage => ({
  day,
  modelId,
  alias,
  texts,
  tokens,
  costPicoUsd: row.is_priced ? BigInt(cost) : null,
});
