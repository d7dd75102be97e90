import type { Context } from '#domain/foundation/access/context.ts';
import { invalid } from '#domain/foundation/kernel/errors.ts';
import { checkModel } from '#domain/capabilities/models/check-model.ts';
import { requireModelCredential } from '#domain/capabilities/models/model-credential.ts';
import { rerankingDefaults } from './reranking-defaults.ts';
import type { RerankingProvider } from './reranking-model.entity.ts';

export interface RerankingSettings {
  alias: string;
  providerKind: RerankingProvider;
  providerModel: string;
  baseUrl?: string | null | undefined;
  maxTokens: number;
}

/** Validates the settings of a reranking model. @throws `invalid_request` naming the field */
export function checkRerankingModel(model: RerankingSettings): void {
  if (addressOf(model) === null) {
    throw invalid('base_url', 'base_url is needed: this provider has no address of its own.');
  }
  // Name and address follow the rules of other models.
  checkModel({
    alias: model.alias,
    providerKind: 'openai',
    providerModel: model.providerModel,
    baseUrl: model.baseUrl ?? null,
    credentialRef: null,
    continuation: 'none',
    supportsReasoning: false,
    contextWindow: 1,
    maxOutputTokens: 1,
  });
  const { maxTokens } = model;
  if (!Number.isInteger(maxTokens) || maxTokens < 64 || maxTokens > 1_000_000) {
    throw invalid('max_tokens', 'max_tokens must be between 64 and 1000000.');
  }
}

/** The credential must belong to the whole tenant, and to the address. @throws `invalid_request` naming `credential_id` */
export function requireRerankingCredential(
  ctx: Context,
  model: RerankingSettings & { credentialId?: string | null | undefined },
): Promise<void> {
  const { credentialId } = model;
  return requireModelCredential(ctx, {
    providerKind: 'openai_compatible',
    baseUrl: addressOf(model),
    credentialId,
  });
}

const addressOf = ({ baseUrl, providerKind, providerModel }: RerankingSettings): string | null =>
  baseUrl ?? rerankingDefaults(providerKind, providerModel).baseUrl;
