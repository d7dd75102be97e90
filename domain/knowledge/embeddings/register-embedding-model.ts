import type { Context } from '#domain/foundation/access/context.ts';
import { authorize } from '#domain/foundation/access/policy.ts';
import { recordEvent } from '#domain/foundation/events/record-event.ts';
import { claimKey, type IdempotentRequest } from '#domain/foundation/idempotency/idempotency.ts';
import { invalid } from '#domain/foundation/kernel/errors.ts';
import { newId } from '#domain/foundation/kernel/ids.ts';
import { mapUniqueViolation } from '#domain/foundation/persistence/map-unique-violation.ts';
import { requireModelCredential } from '#domain/capabilities/models/model-credential.ts';
import { toMicroUsd } from '#domain/capabilities/models/pricing.ts';
import { checkEmbeddingModel } from './check-embedding-model.ts';
import { embeddingDefaults } from './embedding-defaults.ts';
import { EmbeddingModel, type EmbeddingProvider } from './embedding-model.entity.ts';
import { findEmbeddingModel } from './find-embedding-model.ts';

export interface RegisterEmbeddingModel {
  alias: string;
  /** Each tenant has its builtin model from the beginning. */
  providerKind: Exclude<EmbeddingProvider, 'builtin'>;
  /** The vendor's name of the model. */
  providerModel: string;
  baseUrl?: string | null;
  /** A stored credential of the tenant with the vendor's key. */
  credentialId?: string | null;
  /** Length of its vectors. Omitted: the provider's default, if it has one. */
  dims?: number;
  maxTokens?: number;
  queryPrefix?: string;
  passagePrefix?: string;
  /** Dollars per million tokens, such as "0.02". Omitted: free. */
  price?: string;
  idempotency?: IdempotentRequest | null;
}

/**
 * Adds an embedding model to the tenant. What vectors depend on never changes afterwards.
 * @throws `missing_permission`, `invalid_request`, `already_exists`, and the refusals of `claimKey`
 */
export async function registerEmbeddingModel(
  ctx: Context,
  input: RegisterEmbeddingModel,
): Promise<{ model: EmbeddingModel; replayed: boolean }> {
  authorize(ctx.caller, 'models.manage');
  const id = newId();
  const claimed = input.idempotency ? await claimKey(ctx, input.idempotency, id) : id;
  if (claimed !== id) {
    return { model: await findEmbeddingModel(ctx, claimed), replayed: true };
  }
  const defaults = embeddingDefaults(input.providerKind);
  const dims = input.dims ?? defaults?.dims;
  const maxTokens = input.maxTokens ?? defaults?.maxTokens ?? 512;
  if (dims === undefined) {
    throw invalid('dims', 'dims is needed: this provider has no default.');
  }
  const settings = {
    baseUrl: input.baseUrl ?? null,
    credentialId: input.credentialId ?? null,
  };
  const { alias, providerKind, providerModel } = input;
  checkEmbeddingModel({ alias, providerKind, providerModel, dims, maxTokens, ...settings });
  await requireModelCredential(ctx, { providerKind, ...settings });
  const model = ctx.em.create(EmbeddingModel, {
    tenantId: ctx.caller.tenantId,
    id,
    alias,
    providerKind,
    providerModel,
    dims,
    maxTokens,
    queryPrefix: input.queryPrefix ?? '',
    passagePrefix: input.passagePrefix ?? '',
    microUsdPerMillion: toMicroUsd('price', input.price ?? '0'),
    ...settings,
  });
  await ctx.em.flush().catch(mapUniqueViolation('An embedding model with this alias exists.', 'alias'));
  await recordEvent(ctx.em, ctx.caller, {
    type: 'system.model_added',
    resource: { type: 'model', id: model.id },
    metadata: { alias, provider_kind: providerKind, kind: 'embedding' },
  });
  return { model, replayed: false };
}
