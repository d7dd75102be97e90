import { LockMode } from '@mikro-orm/core';
import type { Context } from '#domain/foundation/access/context.ts';
import { authorize } from '#domain/foundation/access/policy.ts';
import { recordEvent } from '#domain/foundation/events/record-event.ts';
import { changedFields } from '#domain/foundation/kernel/changed-fields.ts';
import { DomainError } from '#domain/foundation/kernel/errors.ts';
import { databaseNow } from '#domain/foundation/persistence/database-now.ts';
import { requireModelCredential } from '#domain/capabilities/models/model-credential.ts';
import { toMicroUsd } from '#domain/capabilities/models/pricing.ts';
import { checkEmbeddingModel } from './check-embedding-model.ts';
import type { EmbeddingModel } from './embedding-model.entity.ts';
import { findEmbeddingModel } from './find-embedding-model.ts';

export interface UpdateEmbeddingModel {
  id: string;
  baseUrl?: string | null;
  credentialId?: string | null;
  maxTokens?: number;
  /** Dollars per million tokens. */
  price?: string;
  /** true: no space may choose it any more; spaces that use it go on. */
  disabled?: boolean;
}

const changeable = ['baseUrl', 'credentialId', 'maxTokens'] as const;

/**
 * Changes how a model is reached, its price, or whether spaces may choose it. What vectors depend on is fixed.
 * @throws `missing_permission`, `model_not_found`, `invalid_request`, `invalid_state` for the builtin model's settings
 */
export async function updateEmbeddingModel(
  ctx: Context,
  input: UpdateEmbeddingModel,
): Promise<EmbeddingModel> {
  authorize(ctx.caller, 'models.manage');
  const model = await findEmbeddingModel(ctx, input.id, LockMode.PESSIMISTIC_WRITE);
  const changed: string[] = changedFields(changeable, input, model);
  Object.assign(
    model,
    Object.fromEntries(changed.map((field) => [field, input[field as keyof typeof input]])),
  );
  if (input.price !== undefined && toMicroUsd('price', input.price) !== BigInt(model.microUsdPerMillion)) {
    model.microUsdPerMillion = toMicroUsd('price', input.price);
    changed.push('price');
  }
  if (changed.length > 0 && model.providerKind === 'builtin') {
    throw new DomainError('invalid_state', 'The builtin model can only be disabled.');
  }
  const { alias, providerKind, providerModel, dims, maxTokens, baseUrl = null } = model;
  checkEmbeddingModel({ alias, providerKind, providerModel, dims, maxTokens, baseUrl });
  if (changed.some((field) => field === 'credentialId' || field === 'baseUrl')) {
    await requireModelCredential(ctx, model);
  }
  const { disabled } = input;
  if (disabled !== undefined && disabled !== (model.disabledAt != null)) {
    model.disabledAt = disabled ? await databaseNow(ctx.em) : null;
    changed.push('disabled');
  }
  if (changed.length > 0) {
    await ctx.em.flush();
    const removed = model.disabledAt != null && changed.includes('disabled');
    await recordEvent(ctx.em, ctx.caller, {
      type: removed ? 'system.model_removed' : 'system.model_updated',
      resource: { type: 'model', id: model.id },
      ...(removed ? {} : { changedFields: changed }),
      metadata: { alias: model.alias, kind: 'embedding' },
    });
  }
  return model;
}
