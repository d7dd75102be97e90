import { invalid } from '#domain/foundation/kernel/errors.ts';
import { checkModel } from '#domain/capabilities/models/check-model.ts';
import type { EmbeddingProvider } from './embedding-model.entity.ts';

export interface EmbeddingSettings {
  alias: string;
  providerKind: EmbeddingProvider;
  providerModel: string;
  baseUrl: string | null;
  dims: number;
  maxTokens: number;
}

/** Validates the settings of an embedding model. @throws `invalid_request` naming the field */
export function checkEmbeddingModel(model: EmbeddingSettings): void {
  // Name and address follow the rules of other models.
  checkModel({
    ...model,
    credentialRef: null,
    continuation: 'none',
    supportsReasoning: false,
    contextWindow: 1,
    maxOutputTokens: 1,
  });
  requireWithin('dims', model.dims, 8, 4_096);
  requireWithin('max_tokens', model.maxTokens, 16, 1_000_000);
}

function requireWithin(field: string, value: number, min: number, max: number): void {
  if (!Number.isInteger(value) || value < min || value > max) {
    throw invalid(field, `${field} must be between ${min} and ${max}.`);
  }
}
