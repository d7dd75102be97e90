export const skillStatuses = ['active', 'disabled', 'archived'] as const;
export type SkillStatus = (typeof skillStatuses)[number];

export const versionStatuses = ['draft', 'published', 'deprecated'] as const;
export type VersionStatus = (typeof versionStatuses)[number];

const followers: Readonly<Record<SkillStatus, readonly SkillStatus[]>> = {
  active: ['disabled', 'archived'],
  disabled: ['active', 'archived'],
  archived: ['active', 'disabled'],
};

const versionFollowers: Readonly<Record<VersionStatus, readonly VersionStatus[]>> = {
  draft: ['published'],
  published: ['deprecated'],
  deprecated: [],
};

export function skillCanBecome(from: SkillStatus, to: SkillStatus): boolean {
  return followers[from].includes(to);
}

export function versionCanBecome(from: VersionStatus, to: VersionStatus): boolean {
  return versionFollowers[from].includes(to);
}
