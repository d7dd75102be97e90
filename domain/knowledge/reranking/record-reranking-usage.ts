import type { EntityManager } from '@mikro-orm/postgresql';
import { newId } from '#domain/foundation/kernel/ids.ts';
import type { RerankingModel } from './reranking-model.entity.ts';

export interface RerankingUse {
  spaceId: string;
  model: RerankingModel;
  /** Number of judged passages, at least 1. */
  passages: number;
  tokens: number;
  searches: number;
}

/** Micro-dollars per thousand, in pico-dollars per piece. */
const picoPerMicroPerThousand = 1_000n;

/**
 * Writes judged passages and their cost into the ledger. Micro-dollars per million tokens are pico-dollars per token.
 */
export async function recordRerankingUsage(em: EntityManager, use: RerankingUse): Promise<void> {
  const { spaceId, model, passages, tokens, searches } = use;
  const cost =
    BigInt(tokens) * BigInt(model.microUsdPerMillion) +
    BigInt(searches) * BigInt(model.microUsdPerThousandSearches) * picoPerMicroPerThousand;
  await em.execute(
    `insert into reranking_usage (tenant_id, id, space_id, model_id, passages, input_tokens, searches, cost_pico_usd)
     values (?, ?, ?, ?, ?, ?, ?, ?)`,
    [model.tenantId, newId(), spaceId, model.id, passages, tokens, searches, String(cost)],
  );
}
