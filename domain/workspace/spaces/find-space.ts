import type { EntityManager } from '@mikro-orm/postgresql';
import { notFound } from '#domain/foundation/kernel/errors.ts';
import { Space } from './space.entity.ts';

/** @throws `space_not_found`, also for a space that was deleted since the caller's access was checked */
export async function findSpace(em: EntityManager, id: string): Promise<Space> {
  const space = await em.findOne(Space, { id, deletedAt: null });
  if (space === null) {
    throw notFound('space_not_found');
  }
  return space;
}
