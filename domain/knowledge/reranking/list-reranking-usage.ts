import { usageByDay, type DayUsage, type ListUsage } from '#domain/capabilities/models/usage-by-day.ts';
import type { Context } from '#domain/foundation/access/context.ts';
import type { Page } from '#domain/foundation/kernel/page.ts';

/** What was judged in a space on one day by one model. */
export interface RerankingUsage extends DayUsage {
  /** As the vendor bills them. */
  searches: number;
  passages: number;
}

/** Reranking usage of the caller's space by day and model, newest day first. @throws `missing_permission`, `invalid_cursor` */
export function listRerankingUsage(ctx: Context, input: ListUsage): Promise<Page<RerankingUsage>> {
  const ledger = {
    operation: 'reranking_usage',
    table: 'reranking_usage',
    models: 'reranking_models',
    counted: { searches: 'sum(searches)', passages: 'sum(passages)' },
    isPriced: 'm.micro_usd_per_million > 0 or m.micro_usd_per_thousand_searches > 0',
  };
  return usageByDay(ctx, ledger, input);
}
