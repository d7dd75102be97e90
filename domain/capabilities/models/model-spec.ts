import type { ModelSpec } from './model-gateway.ts';
import type { Model } from './model.entity.ts';

/** Maps a model to its call settings. @param principalId for whom it is called */
export function toModelSpec(model: Model, principalId: string): ModelSpec {
  const { tenantId, credentialId } = model;
  return {
    alias: model.alias,
    providerKind: model.providerKind,
    providerModel: model.providerModel,
    baseUrl: model.baseUrl ?? null,
    credentialRef: model.credentialRef ?? null,
    ...(credentialId == null ? {} : { stored: { tenantId, spaceId: null, principalId, credentialId } }),
    maxOutputTokens: model.maxOutputTokens,
    supportsReasoning: model.supportsReasoning,
    storesRuns: model.continuation === 'reattach',
    inputModalities: model.inputModalities,
  };
}
