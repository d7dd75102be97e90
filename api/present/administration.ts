import type { z } from 'zod';
import type * as wire from '#api/contract/administration.ts';
import type { ApiKey } from '#domain/identity/api-keys/api-key.entity.ts';
import type { Permission } from '#domain/foundation/access/permissions.ts';
import type { ListedModel } from '#domain/capabilities/models/list-models.ts';
import type { ModelPrice } from '#domain/capabilities/models/model-price.entity.ts';
import type { Model } from '#domain/capabilities/models/model.entity.ts';
import { toPriceUsd, type Price } from '#domain/capabilities/models/pricing.ts';
import type { Principal } from '#domain/identity/principals/principal.entity.ts';
import { openAiToolsOf } from '#domain/workspace/spaces/openai-tools.ts';
import type { Space } from '#domain/workspace/spaces/space.entity.ts';
import type { TenantRow } from '#domain/workspace/tenants/list-tenants.ts';

export function presentTenant({ tenant_id: id, ...row }: TenantRow): z.infer<typeof wire.tenantRecord> {
  return { id, ...row };
}

export function presentSpace(space: Space): z.infer<typeof wire.spaceRecord> {
  return {
    id: space.id,
    name: space.name,
    default_model_id: space.defaultModelId ?? null,
    openai_tools: openAiToolsOf(space),
    created_at: space.createdAt.toISOString(),
    updated_at: space.updatedAt.toISOString(),
  };
}

export function presentPrincipal(principal: Principal): z.infer<typeof wire.principalRecord> {
  return {
    id: principal.id,
    type: principal.type,
    name: principal.name ?? null,
    email: principal.email ?? null,
    status: principal.status,
    created_at: principal.createdAt.toISOString(),
  };
}

/** Without the secret, of which only a hash is stored. */
export function presentApiKey(key: ApiKey): z.infer<typeof wire.apiKeyRecord> {
  return {
    id: key.id,
    key_id: key.keyId,
    principal_id: key.principalId,
    name: key.name,
    permissions: (key.permissions as Permission[] | null | undefined) ?? null,
    expires_at: key.expiresAt.toISOString(),
    revoked_at: key.revokedAt?.toISOString() ?? null,
    created_at: key.createdAt.toISOString(),
  };
}

export function presentModel(model: Model): z.infer<typeof wire.modelRecord> {
  return {
    id: model.id,
    alias: model.alias,
    provider_kind: model.providerKind,
    provider_model: model.providerModel,
    base_url: model.baseUrl ?? null,
    credential_ref: model.credentialRef ?? null,
    credential_id: model.credentialId ?? null,
    continuation: model.continuation,
    supports_reasoning: model.supportsReasoning,
    input_modalities: model.inputModalities,
    context_window: model.contextWindow,
    max_output_tokens: model.maxOutputTokens,
    created_at: model.createdAt.toISOString(),
    disabled_at: model.disabledAt?.toISOString() ?? null,
  };
}

export function presentListedModel({ model, price }: ListedModel): z.infer<typeof wire.listedModelRecord> {
  return { ...presentModel(model), price_usd_per_million: presentUsd(price) };
}

export function presentPrice(price: ModelPrice): z.infer<typeof wire.priceRecord> {
  return {
    id: price.id,
    model_id: price.modelId,
    valid_from: price.validFrom.toISOString(),
    usd_per_million: presentUsd(price),
  };
}

/** Dollars per million tokens. */
export function presentUsd(price: Price): { input: string; cached_input: string; output: string } {
  const { input, cachedInput, output } = toPriceUsd(price);
  return { input, cached_input: cachedInput, output };
}
