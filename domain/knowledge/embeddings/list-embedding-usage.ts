import { usageByDay, type DayUsage, type ListUsage } from '#domain/capabilities/models/usage-by-day.ts';
import type { Context } from '#domain/foundation/access/context.ts';
import type { Page } from '#domain/foundation/kernel/page.ts';

/** What was embedded in a space on one day by one model. */
export interface EmbeddingUsage extends DayUsage {
  texts: number;
}

/**
 * Embedding usage of the caller's space by day and model, newest day first. Questions that the builtin model embeds are
 * not counted.
 * @throws `missing_permission`, `invalid_cursor`
 */
export function listEmbeddingUsage(ctx: Context, input: ListUsage): Promise<Page<EmbeddingUsage>> {
  const ledger = {
    operation: 'embedding_usage',
    table: 'embedding_usage',
    models: 'embedding_models',
    counted: { texts: `sum(coalesce(texts, case when purpose = 'query' then 1 else 0 end))` },
    isPriced: 'm.micro_usd_per_million > 0',
  };
  return usageByDay(ctx, ledger, input);
}
