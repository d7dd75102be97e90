import type { Context } from '#domain/foundation/access/context.ts';
import { authorize } from '#domain/foundation/access/policy.ts';
import { spaceOf } from '#domain/foundation/access/space-of.ts';
import { decodeCursor, encodeCursor, type Page } from '#domain/foundation/kernel/page.ts';

/** What a space has used on one day of one model. */
export interface DayUsage {
  /** At UTC, such as `2026-11-24`. */
  day: string;
  modelId: string;
  alias: string;
  tokens: number;
  /** At the prices of the day; null: the model has no price. */
  costPicoUsd: bigint | null;
}

export interface ListUsage {
  /** Days up to today, at least 1. */
  days: number;
  limit: number;
  cursor: string | null;
}

/** An append-only table of usage with `space_id`, `model_id`, `input_tokens`, `cost_pico_usd` and `created_at`. */
export interface UsageLedger<Counted extends string> {
  /** Of the cursor. */
  operation: string;
  table: string;
  models: string;
  /** Sums of the table's columns, beside tokens and cost. */
  counted: Record<Counted, string>;
  /** Whether a model `m` has a price. */
  isPriced: string;
}

type UsageRow = Omit<DayUsage, 'modelId' | 'costPicoUsd'> & {
  model_id: string;
  cost: string;
  is_priced: boolean;
};

/** Usage of the caller's space by day and model, newest day first. @throws `missing_permission`, `invalid_cursor` */
export async function usageByDay<Counted extends string>(
  ctx: Context,
  { operation, table, models, counted, isPriced }: UsageLedger<Counted>,
  { days, limit, cursor }: ListUsage,
): Promise<Page<DayUsage & Record<Counted, number>>> {
  authorize(ctx.caller, 'usage.read');
  const spaceId = spaceOf(ctx.caller);
  const { tenantId } = ctx.caller;
  const scope = { tenantId, operation, filters: { spaceId, days } };
  const after = cursor === null ? null : decodeCursor(ctx.secrets, scope, cursor);
  const names = Object.keys(counted) as Counted[];
  const rows = await ctx.em.execute<(UsageRow & Record<Counted, number>)[]>(
    `select u.day::text as day, u.model_id, m.alias, ${names.map((name) => `u.${name}`).join(', ')}, u.tokens, u.cost,
            u.cost <> '0' or ${isPriced} as is_priced
     from (
       select (created_at at time zone 'utc')::date as day, model_id,
              ${names.map((name) => `${counted[name]}::float8 as ${name}`).join(', ')},
              sum(input_tokens)::float8 as tokens, sum(cost_pico_usd)::text as cost
       from ${table}
       where tenant_id = ? and space_id = ?
         and created_at >= ((now() at time zone 'utc')::date - ?::integer + 1)::timestamp at time zone 'utc'
         and created_at < coalesce((?::date + 1)::timestamp at time zone 'utc', 'infinity')
       group by 1, 2) u
     join ${models} m on m.tenant_id = ? and m.id = u.model_id
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
  const items = rows.slice(0, limit).map(({ model_id: modelId, cost, is_priced: hasPrice, ...row }) => ({
    ...(row as unknown as Omit<DayUsage, 'modelId' | 'costPicoUsd'> & Record<Counted, number>),
    modelId,
    costPicoUsd: hasPrice ? BigInt(cost) : null,
  }));
  const last = items.at(-1);
  return {
    items,
    nextCursor:
      last === undefined || rows.length === items.length
        ? null
        : encodeCursor(ctx.secrets, scope, { createdAt: last.day, id: last.modelId }),
  };
}
