import type { EntityManager } from '@mikro-orm/postgresql';
import { recordEvent } from '#domain/foundation/events/record-event.ts';
import type { Actor } from '#domain/foundation/access/caller.ts';
import { newId } from '#domain/foundation/kernel/ids.ts';
import { SpaceMember } from '#domain/identity/roles/space-member.entity.ts';
import { Space } from './space.entity.ts';

/** Creates a space with its creator as administrator. */
export async function createSpace(
  em: EntityManager,
  actor: Actor,
  input: { id?: string; name: string },
): Promise<Space> {
  const space = em.create(Space, { tenantId: actor.tenantId, id: input.id ?? newId(), name: input.name });
  await em.flush();
  em.create(SpaceMember, {
    tenantId: actor.tenantId,
    spaceId: space.id,
    principalId: actor.principalId,
    roleKey: 'space_admin',
  });
  await recordEvent(em, actor, { type: 'space.created', resource: { type: 'space', id: space.id } });
  return space;
}
