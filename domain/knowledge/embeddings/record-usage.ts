import type { EntityManager } from '@mikro-orm/postgresql';
import { newId } from '#domain/foundation/kernel/ids.ts';
import type { EmbeddingModel } from './embedding-model.entity.ts';

export interface EmbeddingUse {
  spaceId: string;
  model: EmbeddingModel;
  purpose: 'passages' | 'query';
  tokens: number;
}

/** Writes embedded tokens and their cost into the ledger. Micro-dollars per million tokens are pico-dollars per token. */
export async function recordUsage(em: EntityManager, use: EmbeddingUse): Promise<void> {
  const { spaceId, model, purpose, tokens } = use;
  const cost = BigInt(tokens) * BigInt(model.microUsdPerMillion);
  await em.execute(
    `insert into embedding_usage (tenant_id, id, space_id, model_id, purpose, input_tokens, cost_pico_usd)
     values (?, ?, ?, ?, ?, ?, ?)`,
    [model.tenantId, newId(), spaceId, model.id, purpose, tokens, String(cost)],
  );
}
