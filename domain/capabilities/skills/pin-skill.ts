import { validate } from 'uuid';
import type { Context } from '#domain/foundation/access/context.ts';
import { authorize } from '#domain/foundation/access/policy.ts';
import { DomainError, notFound } from '#domain/foundation/kernel/errors.ts';
import { mapForeignKeyViolation } from '#domain/foundation/persistence/map-foreign-key-violation.ts';
import { SkillVersion } from './skill-version.entity.ts';
import { Skill } from './skill.entity.ts';

/** A response's copy of a skill from its acceptance; later changes of the skill do not affect it. */
export interface PinnedSkill {
  id: string;
  version_id: string;
  version: number;
  instructions: string;
  allowed_tools: string[];
}

/**
 * The published version of a skill for a new response.
 * @throws `missing_permission`, `skill_not_found`, `invalid_state` when no version of it is offered
 */
export async function pinSkill(ctx: Context, skillId: string): Promise<PinnedSkill> {
  authorize(ctx.caller, 'skills.read');
  const skill = validate(skillId) ? await ctx.em.findOne(Skill, { id: skillId }) : null;
  if (skill === null) {
    throw notFound('skill_not_found');
  }
  if (skill.status !== 'active' || skill.currentVersionId == null) {
    throw notOffered();
  }
  const version = await ctx.em.findOneOrFail(SkillVersion, { id: skill.currentVersionId });
  await ctx.em
    .execute(
      `insert into skill_uses (tenant_id, skill_id, principal_id) values (?, ?, ?)
       on conflict (tenant_id, skill_id, principal_id) do update set last_used_at = now()
       where skill_uses.last_used_at < now() - interval '1 hour'`,
      [ctx.caller.tenantId, skill.id, ctx.caller.principalId],
    )
    .catch(mapForeignKeyViolation('skill_not_found', 'skill_uses_tenant_id_skill_id_fkey'));
  return {
    id: skill.id,
    version_id: version.id,
    version: version.version ?? 0,
    instructions: version.instructions,
    allowed_tools: version.allowedTools,
  };
}

/**
 * Whether a response with this pinned version may be repeated.
 * @throws `missing_permission`, `invalid_state` once the version is deprecated, or its skill not offered
 */
export async function requireOffered(ctx: Context, pinned: PinnedSkill): Promise<void> {
  authorize(ctx.caller, 'skills.read');
  const [skill, version] = [
    await ctx.em.findOne(Skill, { id: pinned.id }),
    await ctx.em.findOne(SkillVersion, { id: pinned.version_id }),
  ];
  if (skill?.status !== 'active' || version?.status !== 'published') {
    throw notOffered();
  }
}

function notOffered(): DomainError {
  return new DomainError('invalid_state', 'No version of this skill is offered.', {
    param: 'platform.skill_id',
  });
}
