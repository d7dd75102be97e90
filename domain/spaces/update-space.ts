import type { Context } from '#domain/access/context.ts';
import { authorize } from '#domain/access/policy.ts';
import { recordEvent } from '#domain/events/record-event.ts';
import { databaseNow } from '#domain/persistence/database-now.ts';
import { lockSpace } from './lock-space.ts';
import type { Space } from './space.entity.ts';

/** Renames the caller's space. @throws `missing_permission` */
export async function updateSpace(ctx: Context, input: { name: string }): Promise<Space> {
  const { caller, em } = ctx;
  authorize(caller, 'spaces.update');
  const space = await lockSpace(ctx);
  if (space.name !== input.name) {
    space.name = input.name;
    space.updatedAt = await databaseNow(em);
    await em.flush();
    await recordEvent(em, caller, {
      type: 'space.updated',
      resource: { type: 'space', id: space.id },
      changedFields: ['name'],
    });
  }
  return space;
}
