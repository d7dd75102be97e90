import { authorize } from '#domain/foundation/access/policy.ts';
import type { Context } from '#domain/foundation/access/context.ts';
import { claimKey, type IdempotentRequest } from '#domain/foundation/idempotency/idempotency.ts';
import { newId } from '#domain/foundation/kernel/ids.ts';
import { addModel } from './add-model.ts';
import { checkModel } from './check-model.ts';
import { findModelById } from './find-model.ts';
import type { Continuation, InputModality, ProviderKind } from './model-gateway.ts';
import { eitherCredential, requireModelCredential } from './model-credential.ts';
import type { Model } from './model.entity.ts';
import { toPrice, type PriceUsd } from './pricing.ts';
import { providerDefaults } from './provider-defaults.ts';

export interface RegisterModel {
  alias: string;
  providerKind: ProviderKind;
  /** The vendor's name of the model. */
  providerModel: string;
  /** Required for `openai_compatible`; the vendors' own kinds have a default. */
  baseUrl?: string | null;
  /** The worker's environment variable with the vendor's key. */
  credentialRef?: string | null;
  /** A stored credential of the tenant, used instead. */
  credentialId?: string | null;
  /** This field and those below default to `providerDefaults`. */
  continuation?: Continuation;
  supportsReasoning?: boolean;
  inputModalities?: InputModality[];
  contextWindow?: number;
  maxOutputTokens?: number;
  price: PriceUsd;
  idempotency?: IdempotentRequest | null;
}

/**
 * Adds a model to the tenant, with its first price.
 * @throws `missing_permission`, `invalid_request`, `already_exists`, and the refusals of `claimKey`
 */
export async function registerModel(
  ctx: Context,
  input: RegisterModel,
): Promise<{ model: Model; replayed: boolean }> {
  authorize(ctx.caller, 'models.manage');
  const { price, idempotency, ...given } = input;
  const id = newId();
  const claimed = idempotency ? await claimKey(ctx, idempotency, id) : id;
  if (claimed !== id) {
    return { model: await findModelById(ctx, claimed), replayed: true };
  }
  const chosen = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
  const settings = {
    baseUrl: null,
    credentialRef: null,
    credentialId: null,
    ...providerDefaults(input.providerKind, input.providerModel),
    ...(chosen as typeof given),
    ...eitherCredential(given),
  };
  checkModel(settings);
  await requireModelCredential(ctx, settings);
  const model = await addModel(ctx.em, ctx.caller, { ...settings, id, price: toPrice(price) });
  return { model, replayed: false };
}
