import type { EntityManager } from '@mikro-orm/postgresql';
import { recordEvent } from '#domain/foundation/events/record-event.ts';
import type { Actor } from '#domain/foundation/access/caller.ts';
import { newId } from '#domain/foundation/kernel/ids.ts';
import { mapUniqueViolation } from '#domain/foundation/persistence/map-unique-violation.ts';
import type { Continuation, InputModality, ProviderKind } from './model-gateway.ts';
import { ModelPrice } from './model-price.entity.ts';
import { Model } from './model.entity.ts';
import type { Price } from './pricing.ts';

export interface NewModel {
  /** Omitted: a new id. */
  id?: string;
  alias: string;
  providerKind: ProviderKind;
  providerModel: string;
  baseUrl: string | null;
  credentialRef: string | null;
  credentialId?: string | null;
  continuation: Continuation;
  supportsReasoning: boolean;
  /** Omitted: text only. */
  inputModalities?: InputModality[];
  contextWindow: number;
  maxOutputTokens: number;
  price: Price;
}

/**
 * Adds a model with its first price. Later prices are new rows; prices are never changed. @throws `already_exists`
 */
export async function addModel(em: EntityManager, actor: Actor, input: NewModel): Promise<Model> {
  const { price, id = newId(), ...rest } = input;
  const model = em.create(Model, { tenantId: actor.tenantId, id, ...rest });
  await em.flush().catch(mapUniqueViolation('A model with this alias exists.', 'alias'));
  em.create(ModelPrice, { tenantId: actor.tenantId, id: newId(), modelId: model.id, ...price });
  await recordEvent(em, actor, {
    type: 'system.model_added',
    resource: { type: 'model', id: model.id },
    metadata: { alias: model.alias, provider_kind: model.providerKind },
  });
  return model;
}
