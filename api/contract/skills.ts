import { z } from 'zod';
import { skillLimits } from '#domain/capabilities/skills/skill-limits.ts';
import { skillStatuses, versionStatuses } from '#domain/capabilities/skills/skill-status.ts';
import { data, page, timestamp, uuid } from './common.ts';

export const skillParams = z.strictObject({ skill_id: uuid });
export const versionParams = skillParams.extend({ version_id: uuid });

const name = z.string().trim().min(1).max(skillLimits.name);
const description = z.string().max(skillLimits.description).nullable().optional();
const instructions = z.string().min(1).max(skillLimits.instructions);
const notes = z.string().max(skillLimits.notes).nullable().optional();
const allowedTools = z.array(z.string().min(1).max(128)).max(skillLimits.allowedTools).meta({
  description:
    'mcp__<slug>__<tool>, mcp__<slug>__* for all of one connected server, or a platform tool, which is on anyway.',
});

export const createSkillBody = z.strictObject({ name, description });
export const updateSkillBody = z.strictObject({
  name: name.optional(),
  description,
  status: z
    .enum(skillStatuses)
    .optional()
    .meta({ description: 'active needs a published version; what is not active is not offered.' }),
});

export const draftVersionBody = z.strictObject({
  instructions,
  allowed_tools: allowedTools.default([]),
  notes,
});
export const editDraftBody = z.strictObject({
  instructions: instructions.optional(),
  allowed_tools: allowedTools.optional(),
  notes,
});

export const skillRecord = z
  .strictObject({
    id: uuid,
    name: z.string(),
    description: z.string().nullable(),
    status: z.enum(skillStatuses),
    current_version_id: uuid.nullable(),
    latest_version: z.int(),
    created_by: uuid,
    created_at: timestamp,
    updated_at: timestamp,
  })
  .meta({ id: 'Skill' });

export const versionRecord = z
  .strictObject({
    id: uuid,
    skill_id: uuid,
    /** null: a draft */
    version: z.int().nullable(),
    status: z.enum(versionStatuses),
    instructions: z.string(),
    allowed_tools: z.array(z.string()),
    content_hash: z.string().nullable(),
    notes: z.string().nullable(),
    created_by: uuid,
    created_at: timestamp,
    published_at: timestamp.nullable(),
    deprecated_at: timestamp.nullable(),
    deprecated_by: uuid.nullable(),
  })
  .meta({ id: 'SkillVersion' });

export type SkillRecord = z.infer<typeof skillRecord>;
export type VersionRecord = z.infer<typeof versionRecord>;

export const skillEnvelope = data(skillRecord);
export const skillPage = page(skillRecord);
export const versionEnvelope = data(versionRecord);
export const versionPage = page(versionRecord);
