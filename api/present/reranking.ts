import type { z } from 'zod';
import type {
  addRerankingModelBody,
  rerankingModelRecord,
  rerankingUsageRecord,
  spaceRerankingRecord,
  updateRerankingModelBody,
} from '#api/contract/reranking.ts';
import { formatUsd } from '#domain/capabilities/models/pricing.ts';
import type { RerankingUsage } from '#domain/knowledge/reranking/list-reranking-usage.ts';
import type { ChosenReranking } from '#domain/knowledge/reranking/read-space-reranking.ts';
import type { RegisterRerankingModel } from '#domain/knowledge/reranking/register-reranking-model.ts';
import type { RerankingModel } from '#domain/knowledge/reranking/reranking-model.entity.ts';
import type { UpdateRerankingModel } from '#domain/knowledge/reranking/update-reranking-model.ts';

export function presentRerankingModel(model: RerankingModel): z.input<typeof rerankingModelRecord> {
  return {
    id: model.id,
    alias: model.alias,
    provider_kind: model.providerKind,
    provider_model: model.providerModel,
    base_url: model.baseUrl ?? null,
    credential_id: model.credentialId ?? null,
    max_tokens: model.maxTokens,
    score_scale: model.scoreScale,
    price_usd_per_million: formatUsd(BigInt(model.microUsdPerMillion) * 1_000_000n),
    price_usd_per_thousand_searches: formatUsd(BigInt(model.microUsdPerThousandSearches) * 1_000_000n),
    created_at: model.createdAt.toISOString(),
    disabled_at: model.disabledAt?.toISOString() ?? null,
  };
}

export function presentSpaceReranking(chosen: ChosenReranking | null): z.input<typeof spaceRerankingRecord> {
  if (chosen === null) {
    return { model: null, by_default: false, chosen_at: null };
  }
  const { choice, model } = chosen;
  return {
    model: { id: model.id, alias: model.alias, disabled_at: model.disabledAt?.toISOString() ?? null },
    by_default: choice.byDefault,
    chosen_at: choice.chosenAt.toISOString(),
  };
}

export function presentRerankingUsage(usage: RerankingUsage): z.input<typeof rerankingUsageRecord> {
  return {
    day: usage.day,
    model: { id: usage.modelId, alias: usage.alias },
    searches: usage.searches,
    passages: usage.passages,
    tokens: usage.tokens,
    cost_usd: usage.costPicoUsd === null ? null : formatUsd(usage.costPicoUsd),
  };
}

/** From the wire's names to those of the use case; omitted members stay omitted. */
export function toNewRerankingModel(body: z.output<typeof addRerankingModelBody>): RegisterRerankingModel {
  return {
    alias: body.alias,
    providerKind: body.provider_kind,
    providerModel: body.provider_model,
    ...settingsOf(body),
  };
}

/** The members that may change later. */
export function toRerankingChanges(
  body: z.output<typeof updateRerankingModelBody>,
): Omit<UpdateRerankingModel, 'id'> {
  return { ...settingsOf(body), ...(body.disabled === undefined ? {} : { disabled: body.disabled }) };
}

function settingsOf(body: Omit<z.output<typeof updateRerankingModelBody>, 'disabled'>) {
  return {
    ...(body.base_url === undefined ? {} : { baseUrl: body.base_url }),
    ...(body.credential_id === undefined ? {} : { credentialId: body.credential_id }),
    ...(body.max_tokens === undefined ? {} : { maxTokens: body.max_tokens }),
    ...(body.score_scale === undefined ? {} : { scoreScale: body.score_scale }),
    ...(body.price === undefined ? {} : { price: body.price }),
    ...(body.search_price === undefined ? {} : { searchPrice: body.search_price }),
  };
}
