import type { Context } from '#domain/foundation/access/context.ts';
import { spaceOf } from '#domain/foundation/access/space-of.ts';
import { notFound } from '#domain/foundation/kernel/errors.ts';
import { Space } from './space.entity.ts';

/**
 * The caller's space, locked for a change. Concurrent changes are serialised; threads and responses can still be
 * created there. @throws `space_not_found`
 */
export async function lockSpace({ caller, em }: Context): Promise<Space> {
  const id = spaceOf(caller);
  await em.execute('select from spaces where id = ? for no key update', [id]);
  const space = await em.findOne(Space, { id, deletedAt: null }, { refresh: true });
  if (space === null) {
    throw notFound('space_not_found');
  }
  return space;
}
