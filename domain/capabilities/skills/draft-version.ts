import type { Context } from '#domain/foundation/access/context.ts';
import { authorize } from '#domain/foundation/access/policy.ts';
import { recordEvent } from '#domain/foundation/events/record-event.ts';
import { claimKey, type IdempotentRequest } from '#domain/foundation/idempotency/idempotency.ts';
import { changedFields } from '#domain/foundation/kernel/changed-fields.ts';
import { DomainError } from '#domain/foundation/kernel/errors.ts';
import { newId } from '#domain/foundation/kernel/ids.ts';
import { checkAllowedTools } from './allowed-tools.ts';
import { findVersion, lockSkill, type VersionAddress } from './find-skill.ts';
import { optionalSkillText, requireSkillText } from './skill-limits.ts';
import { SkillVersion } from './skill-version.entity.ts';
import type { Skill } from './skill.entity.ts';

export interface DraftVersion {
  skillId: string;
  instructions: string;
  allowedTools: readonly string[];
  notes: string | null;
  idempotency: IdempotentRequest | null;
}

/** @throws `missing_permission`, `skill_not_found`, `invalid_request`, `invalid_state` for an archived skill */
export async function draftVersion(
  ctx: Context,
  input: DraftVersion,
): Promise<{ version: SkillVersion; replayed: boolean }> {
  authorize(ctx.caller, 'skills.update');
  const skill = await lockSkill(ctx, input.skillId);
  const id = newId();
  const claimed = input.idempotency === null ? id : await claimKey(ctx, input.idempotency, id);
  if (claimed !== id) {
    return { version: await findVersion(ctx, { skillId: skill.id, versionId: claimed }), replayed: true };
  }
  rejectArchived(skill);
  const version = ctx.em.create(SkillVersion, {
    tenantId: ctx.caller.tenantId,
    id,
    skillId: skill.id,
    instructions: requireSkillText('instructions', input.instructions),
    allowedTools: checkAllowedTools(input.allowedTools),
    notes: optionalSkillText('notes', input.notes),
    createdBy: ctx.caller.principalId,
  });
  await ctx.em.persist(version).flush();
  await recordChange(ctx, version, 'version_drafted');
  return { version, replayed: false };
}

/** Omitted fields stay unchanged. */
export interface EditDraft extends VersionAddress {
  instructions?: string | undefined;
  allowedTools?: readonly string[] | undefined;
  notes?: string | null | undefined;
}

/** An edit without a change records no event. @throws as `draftVersion`, and `invalid_state` once it is published */
export async function editDraft(ctx: Context, input: EditDraft): Promise<SkillVersion> {
  authorize(ctx.caller, 'skills.update');
  rejectArchived(await lockSkill(ctx, input.skillId));
  const version = await findVersion(ctx, input);
  if (version.status !== 'draft') {
    throw new DomainError('invalid_state', 'A version that was published cannot be changed: draft another.');
  }
  const given = {
    instructions:
      input.instructions === undefined ? undefined : requireSkillText('instructions', input.instructions),
    allowedTools: input.allowedTools === undefined ? undefined : checkAllowedTools(input.allowedTools),
    notes: input.notes === undefined ? undefined : optionalSkillText('notes', input.notes),
  };
  const changed = changedFields(['instructions', 'allowedTools', 'notes'], given, version);
  if (changed.length > 0) {
    Object.assign(version, Object.fromEntries(changed.map((field) => [field, given[field]])));
    await ctx.em.flush();
    await recordChange(ctx, version, 'version_edited');
  }
  return version;
}

export function rejectArchived(skill: Skill): void {
  if (skill.status === 'archived') {
    throw new DomainError('invalid_state', 'This skill is archived.');
  }
}

async function recordChange(ctx: Context, version: SkillVersion, change: string): Promise<void> {
  await recordEvent(ctx.em, ctx.caller, {
    type: 'system.skill_changed',
    resource: { type: 'skill', id: version.skillId },
    metadata: { change, version_id: version.id },
  });
}
