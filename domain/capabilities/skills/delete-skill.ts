import type { Context } from '#domain/foundation/access/context.ts';
import { authorize } from '#domain/foundation/access/policy.ts';
import { recordEvent } from '#domain/foundation/events/record-event.ts';
import { lockSkill } from './find-skill.ts';

/**
 * Deletes a skill with all its versions. Running responses keep their pinned copy.
 * @throws `missing_permission`, `skill_not_found`
 */
export async function deleteSkill(ctx: Context, input: { skillId: string }): Promise<void> {
  authorize(ctx.caller, 'skills.delete');
  const skill = await lockSkill(ctx, input.skillId);
  const { id, name } = skill;
  // First, because the skill and its current version refer to each other.
  await ctx.em.execute(`update skills set status = 'disabled', current_version_id = null where id = ?`, [id]);
  await ctx.em.execute('delete from skills where id = ?', [id]);
  ctx.em.clear();
  await recordEvent(ctx.em, ctx.caller, {
    type: 'system.skill_changed',
    resource: { type: 'skill', id },
    metadata: { change: 'deleted', name },
  });
}
