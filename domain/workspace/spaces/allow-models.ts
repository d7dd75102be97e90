import type { EntityManager } from '@mikro-orm/postgresql';
import { recordEvent } from '#domain/foundation/events/record-event.ts';
import type { Actor } from '#domain/foundation/access/caller.ts';
import { SpaceModel } from '#domain/capabilities/models/space-model.entity.ts';
import type { Space } from './space.entity.ts';

/** Adds models to a space's allow-list and sets its default. */
export async function allowModels(
  em: EntityManager,
  actor: Actor,
  input: { space: Space; modelIds: string[]; defaultModelId: string },
): Promise<void> {
  const { space, modelIds, defaultModelId } = input;
  for (const modelId of modelIds) {
    await em.upsert(SpaceModel, { tenantId: space.tenantId, spaceId: space.id, modelId });
  }
  space.defaultModelId = defaultModelId;
  await recordEvent(em, actor, {
    type: 'space.models_updated',
    resource: { type: 'space', id: space.id },
    metadata: { models: modelIds.join(','), default_model: defaultModelId },
  });
}
