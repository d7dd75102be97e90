import { authorize } from '#domain/foundation/access/policy.ts';
import type { Context } from '#domain/foundation/access/context.ts';
import { recordEvent } from '#domain/foundation/events/record-event.ts';
import { changedFields } from '#domain/foundation/kernel/changed-fields.ts';
import { checkModel } from './check-model.ts';
import { lockModel } from './find-model.ts';
import type { Continuation, InputModality } from './model-gateway.ts';
import { eitherCredential, requireModelCredential } from './model-credential.ts';
import type { Model } from './model.entity.ts';

export interface ModelSettings {
  baseUrl?: string | null;
  credentialRef?: string | null;
  credentialId?: string | null;
  continuation?: Continuation;
  supportsReasoning?: boolean;
  inputModalities?: InputModality[];
  contextWindow?: number;
  maxOutputTokens?: number;
}

/** The model, by its alias or its id, and the changes. */
export type UpdateModel = ModelSettings & ({ alias: string } | { modelId: string });

const changeable = [
  'baseUrl',
  'credentialRef',
  'credentialId',
  'continuation',
  'supportsReasoning',
  'inputModalities',
  'contextWindow',
  'maxOutputTokens',
] as const;

/**
 * Changes how a model is reached or used; omitted fields stay unchanged. Provider and vendor's name are fixed: stored
 * state and prices belong to them. @throws `missing_permission`, `model_not_found`, `invalid_request`
 */
export async function updateModel(ctx: Context, given: UpdateModel): Promise<Model> {
  authorize(ctx.caller, 'models.manage');
  const input = { ...given, ...eitherCredential(given) };
  const model = await lockModel(ctx, input);
  const changed = changedFields(changeable, input, model);
  Object.assign(model, Object.fromEntries(changed.map((field) => [field, input[field]])));
  checkModel({
    alias: model.alias,
    providerKind: model.providerKind,
    providerModel: model.providerModel,
    baseUrl: model.baseUrl ?? null,
    credentialRef: model.credentialRef ?? null,
    continuation: model.continuation,
    supportsReasoning: model.supportsReasoning,
    inputModalities: model.inputModalities,
    contextWindow: model.contextWindow,
    maxOutputTokens: model.maxOutputTokens,
  });
  if (changed.some((field) => field === 'credentialId' || field === 'baseUrl')) {
    await requireModelCredential(ctx, model);
  }
  if (changed.length > 0) {
    await ctx.em.flush();
    await recordEvent(ctx.em, ctx.caller, {
      type: 'system.model_updated',
      resource: { type: 'model', id: model.id },
      changedFields: changed,
      metadata: { alias: model.alias },
    });
  }
  return model;
}
