import type { Context } from '#domain/foundation/access/context.ts';
import { authorize } from '#domain/foundation/access/policy.ts';
import { recordEvent } from '#domain/foundation/events/record-event.ts';
import { databaseNow } from '#domain/foundation/persistence/database-now.ts';
import { findVersion, lockSkill, type VersionAddress } from './find-skill.ts';
import { SkillVersion } from './skill-version.entity.ts';

/**
 * Withdraws a published version from new responses; running ones keep it. The highest published version left becomes
 * current; without one the skill is disabled. A repeat changes nothing.
 * @throws `missing_permission`, `skill_not_found`, `skill_version_not_found`, `invalid_state` for a draft
 */
export async function deprecateVersion(ctx: Context, input: VersionAddress): Promise<SkillVersion> {
  authorize(ctx.caller, 'skills.deprecate');
  const skill = await lockSkill(ctx, input.skillId);
  const version = await findVersion(ctx, input);
  if (version.status === 'deprecated') {
    return version;
  }
  const now = await databaseNow(ctx.em);
  version.deprecate(ctx.caller.principalId, now);
  await ctx.em.flush();
  if (skill.currentVersionId === version.id) {
    const [next] = await ctx.em.find(
      SkillVersion,
      { skillId: skill.id, status: 'published' },
      { orderBy: { version: 'desc' }, limit: 1 },
    );
    if (next === undefined && skill.status === 'active') {
      skill.become('disabled');
    }
    skill.currentVersionId = next?.id ?? null;
    skill.updatedAt = now;
    await ctx.em.flush();
  }
  await recordEvent(ctx.em, ctx.caller, {
    type: 'system.skill_version_deprecated',
    resource: { type: 'skill_version', id: version.id },
    metadata: {
      skill_id: skill.id,
      author_id: version.createdBy,
      version: version.version ?? null,
      current_version_id: skill.currentVersionId ?? null,
    },
  });
  return version;
}
