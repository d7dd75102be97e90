import type { Context } from '#domain/foundation/access/context.ts';
import { authorize } from '#domain/foundation/access/policy.ts';
import { recordEvent } from '#domain/foundation/events/record-event.ts';
import { databaseNow } from '#domain/foundation/persistence/database-now.ts';
import { mapUniqueViolation } from '#domain/foundation/persistence/map-unique-violation.ts';
import { lockSkill } from './find-skill.ts';
import { optionalSkillText, requireSkillText } from './skill-limits.ts';
import type { SkillStatus } from './skill-status.ts';
import type { Skill } from './skill.entity.ts';

/** Omitted fields stay unchanged. */
export interface UpdateSkill {
  skillId: string;
  name?: string | undefined;
  description?: string | null | undefined;
  status?: SkillStatus | undefined;
}

/** @throws `missing_permission`, `skill_not_found`, `invalid_request`, `invalid_state`, `already_exists` */
export async function updateSkill(ctx: Context, input: UpdateSkill): Promise<Skill> {
  authorize(ctx.caller, 'skills.update');
  const skill = await lockSkill(ctx, input.skillId);
  const before = { name: skill.name, description: skill.description ?? null, status: skill.status };
  skill.name = input.name === undefined ? skill.name : requireSkillText('name', input.name);
  skill.description =
    input.description === undefined
      ? (skill.description ?? null)
      : optionalSkillText('description', input.description);
  if (input.status !== undefined) {
    skill.become(input.status);
  }
  const changed = (['name', 'description', 'status'] as const).filter(
    (field) => before[field] !== (skill[field] ?? null),
  );
  if (changed.length > 0) {
    skill.updatedAt = await databaseNow(ctx.em);
    await ctx.em.flush().catch(mapUniqueViolation('A skill with this name exists.', 'name'));
    await recordEvent(ctx.em, ctx.caller, {
      type: 'system.skill_changed',
      resource: { type: 'skill', id: skill.id },
      metadata: { change: 'updated', changed_fields: changed.join(','), status: skill.status },
    });
  }
  return skill;
}
