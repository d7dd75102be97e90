import { LockMode } from '@mikro-orm/core';
import { validate } from 'uuid';
import type { Context } from '#domain/foundation/access/context.ts';
import { notFound } from '#domain/foundation/kernel/errors.ts';
import { Skill } from './skill.entity.ts';
import { SkillVersion } from './skill-version.entity.ts';

/** @throws `skill_not_found` */
export async function findSkill({ em }: Context, skillId: string): Promise<Skill> {
  return found(validate(skillId) ? await em.findOne(Skill, { id: skillId }) : null);
}

/** Locked until the end of the transaction, so that its versions change one at a time. @throws `skill_not_found` */
export async function lockSkill({ em }: Context, skillId: string): Promise<Skill> {
  const lock = { lockMode: LockMode.PESSIMISTIC_WRITE, refresh: true } as const;
  return found(validate(skillId) ? await em.findOne(Skill, { id: skillId }, lock) : null);
}

function found(skill: Skill | null): Skill {
  if (skill === null) {
    throw notFound('skill_not_found');
  }
  return skill;
}

export interface VersionAddress {
  skillId: string;
  versionId: string;
}

/** A version of exactly this skill, which the caller has loaded. @throws `skill_version_not_found` */
export async function findVersion(
  { em }: Context,
  { skillId, versionId }: VersionAddress,
): Promise<SkillVersion> {
  const version = validate(versionId) ? await em.findOne(SkillVersion, { id: versionId, skillId }) : null;
  if (version === null) {
    throw notFound('skill_version_not_found');
  }
  return version;
}
