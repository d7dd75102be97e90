import type { Context } from '#domain/foundation/access/context.ts';
import { authorize } from '#domain/foundation/access/policy.ts';
import { recordEvent } from '#domain/foundation/events/record-event.ts';
import { claimKey, type IdempotentRequest } from '#domain/foundation/idempotency/idempotency.ts';
import { newId } from '#domain/foundation/kernel/ids.ts';
import { mapUniqueViolation } from '#domain/foundation/persistence/map-unique-violation.ts';
import { toMicroUsd } from '#domain/capabilities/models/pricing.ts';
import { checkRerankingModel, requireRerankingCredential } from './check-reranking-model.ts';
import { findRerankingModel } from './find-reranking-model.ts';
import { rerankingDefaults } from './reranking-defaults.ts';
import { RerankingModel, type RerankingProvider, type ScoreScale } from './reranking-model.entity.ts';

export interface RegisterRerankingModel {
  alias: string;
  providerKind: RerankingProvider;
  /** The vendor's name of the model. */
  providerModel: string;
  baseUrl?: string | null;
  /** A stored credential of the tenant with the vendor's key. */
  credentialId?: string | null;
  maxTokens?: number;
  scoreScale?: ScoreScale;
  /** Dollars per million tokens, such as "0.02". Omitted: free. */
  price?: string;
  /** Dollars per thousand searches, such as "2". Omitted: free. */
  searchPrice?: string;
  idempotency?: IdempotentRequest | null;
}

/**
 * Adds a reranking model to the tenant. No space uses it before it has chosen it.
 * @throws `missing_permission`, `invalid_request`, `already_exists`, and the refusals of `claimKey`
 */
export async function registerRerankingModel(
  ctx: Context,
  input: RegisterRerankingModel,
): Promise<{ model: RerankingModel; replayed: boolean }> {
  authorize(ctx.caller, 'models.manage');
  const id = newId();
  const claimed = input.idempotency ? await claimKey(ctx, input.idempotency, id) : id;
  if (claimed !== id) {
    return { model: await findRerankingModel(ctx, claimed), replayed: true };
  }
  const { alias, providerKind, providerModel } = input;
  const defaults = rerankingDefaults(providerKind, providerModel);
  const settings = {
    alias,
    providerKind,
    providerModel,
    baseUrl: input.baseUrl ?? null,
    credentialId: input.credentialId ?? null,
    maxTokens: input.maxTokens ?? defaults.maxTokens,
  };
  checkRerankingModel(settings);
  await requireRerankingCredential(ctx, settings);
  const model = ctx.em.create(RerankingModel, {
    tenantId: ctx.caller.tenantId,
    id,
    ...settings,
    scoreScale: input.scoreScale ?? defaults.scoreScale,
    microUsdPerMillion: toMicroUsd('price', input.price ?? '0'),
    microUsdPerThousandSearches: toMicroUsd('search_price', input.searchPrice ?? '0', 'thousand searches'),
  });
  await ctx.em.flush().catch(mapUniqueViolation('A reranking model with this alias exists.', 'alias'));
  await recordEvent(ctx.em, ctx.caller, {
    type: 'system.model_added',
    resource: { type: 'model', id: model.id },
    metadata: { alias, provider_kind: providerKind, kind: 'reranking' },
  });
  return { model, replayed: false };
}
