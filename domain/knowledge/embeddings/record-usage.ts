import type { EntityManager } from '@mikro-orm/postgresql';
import { newId } from '#domain/foundation/kernel/ids.ts';
import type { EmbeddingModel } from './embedding-model.entity.ts';

export interface EmbeddingUse {
  spaceId: string;
  model: EmbeddingModel;
  /** `calibration`: texts of the platform, from which the mean of the model's vectors is computed. */
  purpose: 'passages' | 'query' | 'calibration';
  /** Number of embedded texts, at least 1. */
  texts: number;
  tokens: number;
}

/** Writes embedded tokens and their cost into the ledger. Micro-dollars per million tokens are pico-dollars per token. */
export async function recordUsage(em: EntityManager, use: EmbeddingUse): Promise<void> {
  const { spaceId, model, purpose, texts, tokens } = use;
  const cost = BigInt(tokens) * BigInt(model.microUsdPerMillion);
  await em.execute(
    `insert into embedding_usage (tenant_id, id, space_id, model_id, purpose, texts, input_tokens, cost_pico_usd)
     values (?, ?, ?, ?, ?, ?, ?, ?)`,
    [model.tenantId, newId(), spaceId, model.id, purpose, texts, tokens, String(cost)],
  );
}
