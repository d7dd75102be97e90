import type { Context } from '#domain/foundation/access/context.ts';
import { authorize } from '#domain/foundation/access/policy.ts';
import { recordEvent } from '#domain/foundation/events/record-event.ts';
import { databaseNow } from '#domain/foundation/persistence/database-now.ts';
import { changedFields } from '#domain/foundation/kernel/changed-fields.ts';
import { lockSpace } from './lock-space.ts';
import { openAiToolsOf, type OpenAiTools } from './openai-tools.ts';
import type { Space } from './space.entity.ts';

export interface SpaceChange {
  name?: string | undefined;
  openAiTools?: OpenAiTools | undefined;
}

/** Updates the given fields of the caller's space. @throws `missing_permission` */
export async function updateSpace(ctx: Context, change: SpaceChange): Promise<Space> {
  const { caller, em } = ctx;
  authorize(caller, 'spaces.update');
  const space = await lockSpace(ctx);
  const before = { name: space.name, openai_tools: openAiToolsOf(space) };
  const after = { name: change.name ?? before.name, openai_tools: change.openAiTools ?? before.openai_tools };
  const changed = changedFields(['name', 'openai_tools'], after, before);
  if (changed.length > 0) {
    space.name = after.name;
    space.policy = { ...space.policy, openai_tools: after.openai_tools };
    space.updatedAt = await databaseNow(em);
    await em.flush();
    await recordEvent(em, caller, {
      type: 'space.updated',
      resource: { type: 'space', id: space.id },
      changedFields: changed,
    });
  }
  return space;
}
