import type { Context } from '#domain/foundation/access/context.ts';
import { authorize } from '#domain/foundation/access/policy.ts';
import { recordEvent } from '#domain/foundation/events/record-event.ts';
import { databaseNow } from '#domain/foundation/persistence/database-now.ts';
import { rejectArchived } from './draft-version.ts';
import { findVersion, lockSkill, type VersionAddress } from './find-skill.ts';
import type { SkillVersion } from './skill-version.entity.ts';

/**
 * Gives a draft the next number and makes it current for new responses. This activates a skill without an earlier
 * published version; a disabled skill stays disabled.
 * @throws `missing_permission`, `skill_not_found`, `skill_version_not_found`, `invalid_state` unless it is a draft
 */
export async function publishVersion(ctx: Context, input: VersionAddress): Promise<SkillVersion> {
  authorize(ctx.caller, 'skills.publish');
  const skill = await lockSkill(ctx, input.skillId);
  const version = await findVersion(ctx, input);
  rejectArchived(skill);
  const now = await databaseNow(ctx.em);
  version.publish(skill.latestVersion + 1, now);
  await ctx.em.flush();
  const first = skill.currentVersionId == null;
  skill.latestVersion += 1;
  skill.currentVersionId = version.id;
  skill.updatedAt = now;
  if (first) {
    skill.become('active');
  }
  await ctx.em.flush();
  await recordEvent(ctx.em, ctx.caller, {
    type: 'system.skill_version_published',
    resource: { type: 'skill_version', id: version.id },
    metadata: { skill_id: skill.id, version: skill.latestVersion, content_hash: version.contentHash ?? null },
  });
  return version;
}
