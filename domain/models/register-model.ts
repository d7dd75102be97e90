import { authorize } from '#domain/access/policy.ts';
import type { Context } from '#domain/access/context.ts';
import { addModel } from './add-model.ts';
import { checkModel } from './check-model.ts';
import type { Continuation, InputModality, ProviderKind } from './model-gateway.ts';
import type { Model } from './model.entity.ts';
import { toPrice, type PriceUsd } from './pricing.ts';
import { providerDefaults } from './provider-defaults.ts';

export interface RegisterModel {
  alias: string;
  providerKind: ProviderKind;
  /** The vendor's own name of it. */
  providerModel: string;
  /** `openai_compatible` needs one; the vendors' own kinds have theirs. */
  baseUrl?: string | null;
  /** The worker's environment variable that holds the vendor's key. */
  credentialRef?: string | null;
  /** This and what follows: the provider's default when not given (`providerDefaults`). */
  continuation?: Continuation;
  supportsReasoning?: boolean;
  inputModalities?: InputModality[];
  contextWindow?: number;
  maxOutputTokens?: number;
  price: PriceUsd;
}

/** Adds a model to the tenant, with its first price. @throws `missing_permission`, `invalid_request`, `already_exists` */
export async function registerModel(ctx: Context, input: RegisterModel): Promise<Model> {
  authorize(ctx.caller, 'models.manage');
  const { price, ...given } = input;
  const chosen = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
  const settings = {
    baseUrl: null,
    credentialRef: null,
    ...providerDefaults(input.providerKind, input.providerModel),
    ...(chosen as typeof given),
  };
  checkModel(settings);
  return addModel(ctx.em, ctx.caller, { ...settings, price: toPrice(price) });
}
