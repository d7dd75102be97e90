import type { Context } from '#domain/foundation/access/context.ts';
import { authorize } from '#domain/foundation/access/policy.ts';
import type { Page } from '#domain/foundation/kernel/page.ts';
import { keysetPage } from '#domain/foundation/persistence/keyset-list.ts';
import { findSkill, findVersion, type VersionAddress } from './find-skill.ts';
import { SkillVersion } from './skill-version.entity.ts';
import { Skill } from './skill.entity.ts';

interface ListInput {
  limit: number;
  cursor: string | null;
}

/** @throws `missing_permission`, `skill_not_found` */
export async function readSkill(ctx: Context, input: { skillId: string }): Promise<Skill> {
  authorize(ctx.caller, 'skills.read');
  return findSkill(ctx, input.skillId);
}

/** The tenant's skills, newest first. @throws `missing_permission`, `invalid_cursor` */
export async function listSkills(ctx: Context, input: ListInput): Promise<Page<Skill>> {
  authorize(ctx.caller, 'skills.read');
  return keysetPage(ctx, { ...input, entity: Skill, where: {}, operation: 'skills.list', filters: {} });
}

/** @throws `missing_permission`, `skill_not_found`, `skill_version_not_found` */
export async function readVersion(ctx: Context, input: VersionAddress): Promise<SkillVersion> {
  authorize(ctx.caller, 'skills.read');
  await findSkill(ctx, input.skillId);
  return findVersion(ctx, input);
}

/**
 * A skill's versions, newest first, drafts included. @throws `missing_permission`, `skill_not_found`,
 * `invalid_cursor`
 */
export async function listVersions(
  ctx: Context,
  { skillId, ...input }: ListInput & { skillId: string },
): Promise<Page<SkillVersion>> {
  authorize(ctx.caller, 'skills.read');
  const { id } = await findSkill(ctx, skillId);
  return keysetPage(ctx, {
    ...input,
    entity: SkillVersion,
    where: { skillId: id },
    operation: 'skills.versions',
    filters: { skillId: id },
  });
}
