import type { z } from 'zod';
import type {
  embeddingModelRecord,
  embeddingUsageRecord,
  spaceEmbeddingRecord,
} from '#api/contract/embeddings.ts';
import { formatUsd } from '#domain/capabilities/models/pricing.ts';
import type { EmbeddingModel } from '#domain/knowledge/embeddings/embedding-model.entity.ts';
import type { EmbeddingUsage } from '#domain/knowledge/embeddings/list-embedding-usage.ts';
import type { SpaceEmbedding } from '#domain/knowledge/embeddings/read-space-embedding.ts';

export function presentEmbeddingModel(model: EmbeddingModel): z.input<typeof embeddingModelRecord> {
  return {
    id: model.id,
    alias: model.alias,
    provider_kind: model.providerKind,
    provider_model: model.providerModel,
    base_url: model.baseUrl ?? null,
    credential_id: model.credentialId ?? null,
    dims: model.dims,
    max_tokens: model.maxTokens,
    pooling: model.pooling ?? null,
    query_prefix: model.queryPrefix,
    passage_prefix: model.passagePrefix,
    price_usd_per_million: formatUsd(BigInt(model.microUsdPerMillion) * 1_000_000n),
    created_at: model.createdAt.toISOString(),
    disabled_at: model.disabledAt?.toISOString() ?? null,
  };
}

export function presentSpaceEmbedding({
  active,
  building,
  pendingDocuments,
}: SpaceEmbedding): z.input<typeof spaceEmbeddingRecord> {
  return {
    model: active && presentChosen(active.model),
    generation: active?.generation.id ?? null,
    active_since: active?.generation.activatedAt?.toISOString() ?? null,
    pending_documents: pendingDocuments,
    last_error: active?.generation.lastError ?? null,
    change: building && {
      model: presentChosen(building.model),
      generation: building.generation.id,
      documents_done: building.generation.documentsDone,
      documents_total: building.generation.documentsTotal,
      started_at: building.generation.createdAt.toISOString(),
      last_error: building.generation.lastError ?? null,
    },
  };
}

const presentChosen = ({ id, alias, dims }: EmbeddingModel) => ({ id, alias, dims });

export function presentEmbeddingUsage(usage: EmbeddingUsage): z.input<typeof embeddingUsageRecord> {
  return {
    day: usage.day,
    model: { id: usage.modelId, alias: usage.alias },
    texts: usage.texts,
    tokens: usage.tokens,
    cost_usd: usage.costPicoUsd === null ? null : formatUsd(usage.costPicoUsd),
  };
}
