import type { SkillRecord, VersionRecord } from '#api/contract/skills.ts';
import type { SkillVersion } from '#domain/capabilities/skills/skill-version.entity.ts';
import type { Skill } from '#domain/capabilities/skills/skill.entity.ts';

export function presentSkill(skill: Skill): SkillRecord {
  return {
    id: skill.id,
    name: skill.name,
    description: skill.description ?? null,
    status: skill.status,
    current_version_id: skill.currentVersionId ?? null,
    latest_version: skill.latestVersion,
    created_by: skill.createdBy,
    created_at: skill.createdAt.toISOString(),
    updated_at: skill.updatedAt.toISOString(),
  };
}

export function presentVersion(version: SkillVersion): VersionRecord {
  return {
    id: version.id,
    skill_id: version.skillId,
    version: version.version ?? null,
    status: version.status,
    instructions: version.instructions,
    allowed_tools: version.allowedTools,
    content_hash: version.contentHash ?? null,
    notes: version.notes ?? null,
    created_by: version.createdBy,
    created_at: version.createdAt.toISOString(),
    published_at: version.publishedAt?.toISOString() ?? null,
    deprecated_at: version.deprecatedAt?.toISOString() ?? null,
    deprecated_by: version.deprecatedBy ?? null,
  };
}
